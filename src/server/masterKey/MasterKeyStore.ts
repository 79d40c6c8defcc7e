// The place where the process stores master keys. Without a store, a rotation uses the current key of the configuration.
import { Context, Option } from "effect"
import type { Array, Effect, Redacted } from "effect"

export interface Store {
  /** Stores exactly these keys, durably, in one step. The first is the current key of the next start. */
  keep(keys: Array.NonEmptyReadonlyArray<Redacted.Redacted<Uint8Array>>): Effect.Effect<void>
  /** The files that contain the current and the earlier keys. */
  readonly files: Effect.Effect<ReadonlyArray<string>>
}

/** Only for an instance that uses its database alone: other instances would not learn of a new key. */
export const MasterKeyStore = Context.Reference<Option.Option<Store>>(
  "effect-relayer/server/masterKey/MasterKeyStore",
  {
    defaultValue: Option.none
  }
)
