// Requests that are safe to repeat (draft-ietf-httpapi-idempotency-key-header).
import { Schema } from "effect"

export const IdempotencyKey = Schema.String.check(
  Schema.isPattern(/^[\x21-\x7e]{1,255}$/u, { expected: "1 to 255 visible ASCII characters" })
)

/** The key was used for a request with another method, path or body. */
export class IdempotencyKeyReused extends Schema.TaggedError<IdempotencyKeyReused>()("IdempotencyKeyReused", {}) {
  override readonly message = "the Idempotency-Key belongs to a different request; use a new key"
}

/** The first request with the key is still running. */
export class IdempotencyKeyBusy extends Schema.TaggedError<IdempotencyKeyBusy>()("IdempotencyKeyBusy", {}) {
  override readonly message = "a request with this Idempotency-Key is in progress; try again"
}
