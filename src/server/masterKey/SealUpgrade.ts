// Upgrades a database from before version 3 of sealed values: binds each value to its context, and gives rows their MACs.
import { Effect, Option } from "effect"
import type { SqlClient } from "effect/sql"
import { currentVersion } from "../secrets/Envelope.ts"
import type { Keyring } from "../secrets/Keyring.ts"
import * as Authentication from "./Authentication.ts"
import type { ServiceSecrets } from "../secrets/ServiceSecrets.ts"
import * as Rewrapping from "./Rewrapping.ts"

const isLocked = new Error(
  "the upgrade of sealed values needs rows that another session has locked: stop every other instance"
)

export const make = Effect.gen(function* () {
  const walk = yield* Rewrapping.make
  const context = yield* Effect.context<SqlClient.SqlClient | ServiceSecrets>()

  /** Everything stays readable: a value that cannot be opened stays as it is. */
  const seal = Effect.fnUntraced(function* (keyring: Keyring) {
    let unreadable = 0
    const skip = () =>
      Effect.as(
        Effect.sync(() => void unreadable++),
        Option.none<never>()
      )
    const { found, rewrapped } = yield* walk(keyring, { versionBelow: currentVersion }, skip)
    if (rewrapped + unreadable < found) return yield* Effect.die(isLocked)
    yield* Effect.annotateLogs(Effect.logInfo("sealed values upgraded"), { rewrapped, unreadable })
  })

  /** `keyring` opens older versions. Part of the transaction of the start. */
  return Effect.fn("SealUpgrade.upgrade")(function* (keyring: Keyring) {
    yield* seal(keyring)
    yield* Effect.provideContext(Authentication.run, context)
  })
})
