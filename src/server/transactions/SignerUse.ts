// Signatures for callers: with the key of a relayer's signer, as outbound work of the caller.
import { Effect } from "effect"
import { TooManyRequests } from "../../domain/access/Caller.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import { BadGateway } from "../../domain/request/Request.ts"
import type { Curve } from "../../domain/signer/Signer.ts"
import { OutboundWork } from "../limits/CallerLimits.ts"
import { Signers } from "../signers/Signers.ts"
import { withRequestId } from "../signers/backends/SignerBackend.ts"
import type { SignerUnavailable } from "../signers/backends/SignerBackend.ts"

/** The shortest `Retry-After`, in seconds, if the key service of the signer accepts no more requests. */
const minRetryAfter = 1

const unavailable = (message: string) => new BadGateway({ error: `the signer of the relayer: ${message}` })

const failed = ({ reason, message, retryAfter = 0 }: SignerUnavailable) =>
  reason === "throttled"
    ? new TooManyRequests({ retryAfter: Math.max(Math.ceil(retryAfter / 1000), minRetryAfter) })
    : unavailable(`${message} (${reason})`)

/** A signature of another key would be one of another account. */
export const wrongKey = () => unavailable("its key does not belong to the relayer's address")

export const make = Effect.gen(function* () {
  const signers = yield* Signers
  const outboundWork = yield* OutboundWork

  return Effect.fnUntraced(function* (
    { id, signer_id }: Relayer,
    { curve, message }: { readonly curve: Curve; readonly message: Uint8Array }
  ) {
    const logFailure = ({ reason, message, requestId }: SignerUnavailable) =>
      Effect.annotateLogs(Effect.logWarning("a caller gets no signature, because the key cannot be used"), {
        relayer_id: id,
        reason,
        error: message,
        ...(requestId === undefined ? {} : { key_service_request_id: requestId })
      })
    // A signer exists as long as its relayers do.
    const backend = yield* Effect.orDie(signers.use(signer_id))
    const signing = withRequestId(backend.sign(curve, message)).pipe(
      Effect.tapError(logFailure),
      Effect.mapError(failed)
    )
    return yield* outboundWork.run(signing)
  })
})
