// The keys of a lane. A key is opened again after a while, and after a failure.
import { Clock, Effect, Schema } from "effect"
import type { Curve, SignerId } from "../../domain/signer/Signer.ts"
import { changedRowIn } from "../secrets/RowMacs.ts"
import type { Signers } from "../signers/Signers.ts"
import { withRequestId } from "../signers/backends/SignerBackend.ts"
import type { SignerBackend, SignerUnavailable } from "../signers/backends/SignerBackend.ts"

/** The key cannot be used now. */
export class SigningFailed extends Schema.TaggedError<SigningFailed>()("SigningFailed", {
  code: Schema.Literals(["signer_unavailable", "throttled", "row_changed"]),
  message: Schema.String,
  /** Milliseconds after which the key service accepts the next request. Absent: it does not say. */
  retryAfter: Schema.optionalKey(Schema.Finite),
  /** The id of the request at the key service. */
  requestId: Schema.optionalKey(Schema.String)
}) {}

export interface KeyOptions {
  readonly curve: Curve
  /** Whether a public key belongs to the account of the lane. */
  isOwn(publicKey: Uint8Array): Effect.Effect<boolean>
}

interface KeySignature {
  readonly signature: Uint8Array
  /** The id of the request at the key service. Absent: there was none. */
  readonly requestId?: string
  /** Whether the key cannot change while it is open, so that the check of its opening holds for this signature. */
  readonly isChecked: boolean
}

export interface LaneKeys {
  sign(signerId: SignerId, message: Uint8Array): Effect.Effect<KeySignature, SigningFailed>
}

const unavailable = ({ reason, message, retryAfter, requestId }: SignerUnavailable) =>
  new SigningFailed({
    code: reason === "throttled" ? "throttled" : "signer_unavailable",
    message,
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(requestId === undefined ? {} : { requestId })
  })

const changed = (message: string) => new SigningFailed({ code: "row_changed", message })

/** A signature of another key would be a transaction of another account. */
export const wrongKey = () =>
  new SigningFailed({ code: "signer_unavailable", message: "the key does not belong to the relayer's address" })

/** Nanoseconds. After this time, the row of a signer is read again, because another instance may have disabled the signer. */
const keptFor = 5_000_000_000n

interface Opened {
  readonly backend: SignerBackend
  /** Nanoseconds of the monotonic clock. The row is read again after this time. */
  readonly until: bigint
}

export const make = (signers: Pick<Signers["Service"], "use">, { curve, isOwn }: KeyOptions): LaneKeys => {
  const opened = new Map<SignerId, Opened>()
  const opening = new Map<SignerId, Effect.Effect<SignerBackend, SigningFailed>>()

  const use = (id: SignerId) =>
    signers.use(id).pipe(
      Effect.catchTag("SignerNotFound", () => Effect.fail(changed("the signer is not in the database"))),
      Effect.catchCause((cause) => {
        const row = changedRowIn(cause)
        return row === undefined ? Effect.failCause(cause) : Effect.fail(changed(row.message))
      })
    )

  const openNow = Effect.fnUntraced(function* (id: SignerId) {
    const now = yield* Clock.monotonicTimeNanos
    const backend = yield* use(id)
    if (backend.hasFixedKey === true) {
      const publicKey = yield* Effect.mapError(backend.publicKey(curve), unavailable)
      if (!(yield* isOwn(publicKey))) return yield* wrongKey()
    }
    opened.set(id, { backend, until: now + keptFor })
    return backend
  })

  /** Signatures that begin at the same time share one opening of their key. */
  const open = Effect.fnUntraced(function* (id: SignerId) {
    const found = opened.get(id)
    if (found !== undefined && (yield* Clock.monotonicTimeNanos) < found.until) return found.backend
    const shared = opening.get(id) ?? (yield* Effect.cachedWithTTL(openNow(id), 0))
    opening.set(id, shared)
    return yield* shared
  })

  const sign: LaneKeys["sign"] = Effect.fn("LaneKeys.sign")(function* (id, message) {
    const backend = yield* open(id)
    const { signature, requestId } = yield* withRequestId(backend.sign(curve, message)).pipe(
      // Its row is read again for the next signature, because the signer may have been enabled or disabled.
      Effect.tapError(() => Effect.sync(() => opened.delete(id))),
      Effect.mapError(unavailable)
    )
    const isChecked = backend.hasFixedKey === true
    return requestId === undefined ? { signature, isChecked } : { signature, isChecked, requestId }
  })

  return { sign }
}
