// Seals the values of a database again that were sealed before version 3, so that each is bound to its context.
import { Effect, Option } from "effect"
import { currentVersion } from "../secrets/Envelope.ts"
import type { Keyring } from "../secrets/Keyring.ts"
import * as Rewrapping from "./Rewrapping.ts"

export const make = Effect.gen(function* () {
  const walk = yield* Rewrapping.make

  /** `keyring` opens older versions. Part of the transaction of the start; a value that cannot be opened stays as it is. */
  return Effect.fn("SealUpgrade.upgrade")(function* (keyring: Keyring) {
    const stale = { versionBelow: currentVersion }
    let unreadable = 0
    const skip = () =>
      Effect.as(
        Effect.sync(() => void unreadable++),
        Option.none<never>()
      )
    const { found, rewrapped } = yield* walk(keyring, stale, skip)
    if (rewrapped + unreadable < found) {
      return yield* Effect.die(
        new Error("the upgrade of sealed values needs rows that another session has locked: stop every other instance")
      )
    }
    yield* Effect.annotateLogs(Effect.logInfo("sealed values upgraded"), { rewrapped, unreadable })
  })
})
