// The master key, as far as it may be told of.
import { Schema } from "effect"

export const MasterKeyRotation = Schema.Struct({
  /** First bytes of the key's SHA-256, in hex. */
  key_id: Schema.String,
  /** Secrets that were wrapped anew. */
  rewrapped: Schema.Int
}).annotate({ identifier: "MasterKeyRotation" })
export type MasterKeyRotation = typeof MasterKeyRotation.Type

/** Another rotation, of this instance or of another one, is not finished. */
export class RotationRunning extends Schema.TaggedError<RotationRunning>()("RotationRunning", {}) {}
