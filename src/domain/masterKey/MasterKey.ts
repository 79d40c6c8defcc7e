// The bytes of a master key, and the result of its rotation.
import { Effect, Redacted, Schema, Struct } from "effect"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"

export const MasterKeyRotation = Schema.Struct({
  key_id: field(Shown.hex(8), "Identifies the key: the first bytes of its SHA-256, in hex.", "9f86d081"),
  rewrapped: field(Schema.Natural, "Secrets that were encrypted again.", 12),
  key_files: field(
    Schema.Array(Shown.shaped(/^\/[a-z]{1,9}\/[a-z]{1,9}$/)),
    "Files of the service's machine that contain the new and the earlier master keys: copy them to a place where the backups are not. Empty if the operator sets the keys.",
    ["/var/lib/relayer/storage-encryption-key", "/var/lib/relayer/storage-encryption-key.1a2b3c4d"]
  ),
  note: field(Shown.Words, "What to keep.", "Backups from before this rotation need the previous master key: keep it.")
}).annotate({ identifier: "MasterKeyRotation", description: "The result of a rotation." })
export type MasterKeyRotation = typeof MasterKeyRotation.Type

/** What the audit log and the event of a rotation contain. */
export const MasterKeyRotated = Schema.Struct(Struct.pick(MasterKeyRotation.fields, ["key_id", "rewrapped"]))

/** Another rotation is running, on this or another instance. */
export class RotationRunning extends Schema.TaggedError<RotationRunning>()("RotationRunning", {}) {
  override readonly message = "another rotation of the master key is running; try again when it has ended"
}

/** AES-256. */
const masterKeyBytes = 32

/** A host program gave `Services.layer` a master key of the wrong length. */
export class MasterKeyInvalid extends Schema.TaggedError<MasterKeyInvalid>()("MasterKeyInvalid", {
  /** The option, such as `masterKey` or `decryptionKeys.0`. */
  option: Schema.NonEmptyString,
  bytes: Schema.Natural
}) {
  override readonly message = `${this.option}: expected ${masterKeyBytes} bytes, but it has ${this.bytes}; generate a key with crypto.getRandomValues(new Uint8Array(${masterKeyBytes}))`
}

/** Fails if the key does not have 32 bytes. `option` names it in the error. */
export const checkMasterKey = (
  option: string,
  key: Redacted.Redacted<Uint8Array>
): Effect.Effect<void, MasterKeyInvalid> => {
  const bytes = Redacted.value(key).length
  return bytes === masterKeyBytes ? Effect.void : Effect.fail(new MasterKeyInvalid({ option, bytes }))
}
