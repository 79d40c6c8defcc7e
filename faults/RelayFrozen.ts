// Two of three instances are frozen beyond their lease of 30 seconds while all three send transactions, and then continue.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as ExternalPostgres from "./ExternalPostgres.ts"
import * as Instances from "./sending/Instances.ts"

const freezes = 3

/** The default. */
const lease = 30_000

export const RelayFrozen: Case = {
  name: "relay-frozen",
  promise:
    "two of three instances hang beyond their lease and continue: all are confirmed, each effect happens once, no holes",
  run: ({ random, tally }) =>
    Effect.gen(function* () {
      const { listen } = yield* ExternalPostgres.make
      yield* Instances.run({ random, tally, listen, kills: 0, freezes, lease })
    })
}
