// Where the process keeps master keys, if it does: without a store, they are given, and a rotation takes the one that is.
import { Context, Option } from "effect"
import type { Array, Effect, Redacted } from "effect"

export interface Store {
  /** Keeps these, and no others: whole and durably, or what was kept before. The first is the current one of the next start. */
  keep(keys: Array.NonEmptyReadonlyArray<Redacted.Redacted<Uint8Array>>): Effect.Effect<void>
}

/** Of the only service that uses the database: others would not learn of a new key. */
export const MasterKeyStore = Context.Reference<Option.Option<Store>>(
  "effect-relayer/server/masterKey/MasterKeyStore",
  {
    defaultValue: Option.none
  }
)
