// One of two instances is frozen beyond its lease of 30 seconds while both send transactions, and then continues.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as ExternalPostgres from "./ExternalPostgres.ts"
import * as Instances from "./sending/Instances.ts"

const freezes = 3

/** The default. */
const lease = 30_000

export const RelayFrozen: Case = {
  name: "relay-frozen",
  promise: "an instance hangs beyond its lease and continues: all are confirmed, each effect happens once, no holes",
  run: (context) =>
    Effect.gen(function* () {
      const { listen } = yield* ExternalPostgres.make
      yield* Instances.run({ ...context, listen, kills: 0, freezes, lease })
    })
}
