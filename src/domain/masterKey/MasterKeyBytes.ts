// The bytes of a master key.
import { Effect, Redacted, Schema } from "effect"

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
export const check = (option: string, key: Redacted.Redacted<Uint8Array>): Effect.Effect<void, MasterKeyInvalid> => {
  const bytes = Redacted.value(key).length
  return bytes === masterKeyBytes ? Effect.void : Effect.fail(new MasterKeyInvalid({ option, bytes }))
}
