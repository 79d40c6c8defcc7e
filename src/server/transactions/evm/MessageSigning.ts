// Signatures of messages and typed data with a relayer's key. Each is recorded in the audit log before it is returned.
import { Context, Effect, Layer, Schema } from "effect"
import { TooManyRequests } from "../../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../../domain/relayer/Relayer.ts"
import { BadGateway } from "../../../domain/request/Request.ts"
import type { BadRequest, NotImplemented } from "../../../domain/request/Request.ts"
import { RelayerPaused } from "../../../domain/transaction/AcceptanceErrors.ts"
import type { EvmSignature, SignMessage, SignTypedData } from "../../../domain/transaction/evm/Signature.ts"
import type { TransactionLimitExceeded } from "../../../domain/transaction/TransactionLimits.ts"
import { Audit } from "../../audit/Audit.ts"
import { OutboundWork } from "../../limits/OutboundWork.ts"
import type { SignerUnavailable } from "../../signers/backends/SignerBackend.ts"
import * as RequestIds from "../../signers/backends/RequestIds.ts"
import { Signers } from "../../signers/Signers.ts"
import * as EvmSenders from "./EvmSenders.ts"
import * as SigningDigests from "./SigningDigests.ts"

type Failed = RelayerNotFound | NotImplemented | RelayerPaused | TransactionLimitExceeded | TooManyRequests | BadGateway

/** The shortest `Retry-After`, in seconds, if the key service of the signer accepts no more requests. */
const minRetryAfter = 1

/** What the audit log keeps: the digest names the message without showing it. */
const Signed = Schema.Struct({
  digest: Schema.String,
  /** The id of the signature at the key service of the signer. */
  key_service_request_id: Schema.optionalKey(Schema.String)
})

export class MessageSigning extends Context.Service<
  MessageSigning,
  {
    sign(id: RelayerId, request: SignMessage): Effect.Effect<EvmSignature, Failed>
    /** The same for a message that is no text. */
    signBytes(id: RelayerId, message: Uint8Array): Effect.Effect<EvmSignature, Failed>
    signTypedData(id: RelayerId, request: SignTypedData): Effect.Effect<EvmSignature, Failed | BadRequest>
  }
>()("effect-relayer/server/transactions/evm/MessageSigning") {
  /** @internal */
  static readonly layer = Layer.effect(
    MessageSigning,
    Effect.gen(function* () {
      const senders = yield* EvmSenders.make
      const signers = yield* Signers
      const outboundWork = yield* OutboundWork
      const audit = yield* Audit

      const unavailable = (message: string) => new BadGateway({ error: `the signer of the relayer: ${message}` })

      const failed = ({ reason, message, retryAfter = 0 }: SignerUnavailable) =>
        reason === "throttled"
          ? new TooManyRequests({ retryAfter: Math.max(Math.ceil(retryAfter / 1000), minRetryAfter) })
          : unavailable(`${message} (${reason})`)

      const logFailure = (id: RelayerId, { reason, message, requestId }: SignerUnavailable) =>
        Effect.annotateLogs(Effect.logWarning("message cannot be signed"), {
          relayer_id: id,
          reason,
          error: message,
          ...(requestId === undefined ? {} : { key_service_request_id: requestId })
        })

      const signDigest = Effect.fnUntraced(function* (
        id: RelayerId,
        digest: Uint8Array,
        action: "relayer.message_signed" | "relayer.typed_data_signed"
      ) {
        const { relayer } = yield* senders.getLimited(id)
        if (relayer.paused) return yield* new RelayerPaused({})
        // A signer exists as long as its relayers do.
        const backend = yield* Effect.orDie(signers.use(relayer.signer_id))
        const signing = RequestIds.collect(backend.sign("secp256k1", digest)).pipe(
          Effect.tapError((failure) => logFailure(id, failure)),
          Effect.mapError(failed)
        )
        const { signature, requestId } = yield* outboundWork.run(signing)
        const signer = yield* SigningDigests.signerOf(digest, signature)
        if (signer !== relayer.address.toLowerCase()) {
          return yield* unavailable("its key does not belong to the relayer's address")
        }
        const after = {
          digest: SigningDigests.hexOf(digest),
          ...(requestId === undefined ? {} : { key_service_request_id: requestId })
        }
        yield* audit.record({ action, id, schema: Signed, after })
        return SigningDigests.toEvmSignature(signature)
      })

      const sign = Effect.fn("MessageSigning.sign")(function* (id: RelayerId, { message }: SignMessage) {
        return yield* signDigest(id, yield* SigningDigests.ofMessage(message), "relayer.message_signed")
      })

      const signBytes = Effect.fn("MessageSigning.signBytes")(function* (id: RelayerId, message: Uint8Array) {
        return yield* signDigest(id, yield* SigningDigests.ofBytes(message), "relayer.message_signed")
      })

      const signTypedData = Effect.fn("MessageSigning.signTypedData")(function* (
        id: RelayerId,
        request: SignTypedData
      ) {
        return yield* signDigest(id, yield* SigningDigests.ofTypedData(request), "relayer.typed_data_signed")
      })

      return MessageSigning.of({ sign, signBytes, signTypedData })
    })
  )
}
