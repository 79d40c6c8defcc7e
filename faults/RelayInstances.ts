// Two of three instances on a shared database are killed, or frozen beyond their lease, while all three send transactions.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as ExternalPostgres from "./ExternalPostgres.ts"
import * as Instances from "./sending/Instances.ts"

const kills = 80
const freezes = 20
const lease = 3000

export const RelayInstances: Case = {
  name: "relay-instances",
  promise: "two of three instances die or hang while all send: all are confirmed, each effect happens once, no holes",
  run: (context) =>
    Effect.gen(function* () {
      const { listen } = yield* ExternalPostgres.make
      yield* Instances.run({ ...context, listen, kills, freezes, lease })
    })
}
