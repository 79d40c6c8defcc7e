// Two of three instances on a shared database are killed, or frozen beyond their lease, while all three send transactions.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as ExternalPostgres from "./ExternalPostgres.ts"
import * as Instances from "./sending/Instances.ts"

const lease = 3000

export const RelayInstances: Case = {
  name: "relay-instances",
  promise: "two of three instances die or hang while all send: all are confirmed, each effect happens once, no holes",
  isShort: true,
  run: ({ amount, random, tally }) =>
    Effect.gen(function* () {
      const { listen } = yield* ExternalPostgres.make
      yield* Instances.run({ random, tally, listen, kills: amount(80, 3), freezes: amount(20, 1), lease })
    })
}
