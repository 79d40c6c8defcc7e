// The result of a rotation of the master key.
import { Schema } from "effect"
import { field } from "../request/Field.ts"

export const MasterKeyRotation = Schema.Struct({
  key_id: field(Schema.String, "Identifies the key: the first bytes of its SHA-256, in hex.", "9f86d081884c7d65"),
  rewrapped: field(Schema.Natural, "Secrets that were encrypted again.", 12)
}).annotate({ identifier: "MasterKeyRotation", description: "The result of a rotation." })
export type MasterKeyRotation = typeof MasterKeyRotation.Type

/** Another rotation is running, on this or another instance. */
export class RotationRunning extends Schema.TaggedError<RotationRunning>()("RotationRunning", {}) {}
