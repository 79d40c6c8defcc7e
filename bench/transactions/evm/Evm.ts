// The benchmark of transactions on anvil.
import { Effect } from "effect"
import * as Loads from "../Loads.ts"
import type { Network } from "../Network.ts"
import * as Blast from "./Blast.ts"
import * as Cases from "./Cases.ts"
import { judged } from "./Goals.ts"
import * as History from "./History.ts"
import * as Scale from "./Scale.ts"
import * as World from "./World.ts"

export const evm: Network<World.EvmWorld, Scale.EvmScale> = {
  scales: { full: Scale.full, smoke: Scale.smoke },
  make: (version, checkout, { lanes }) => World.make(version, checkout, lanes),
  fill: History.fill,
  warmUp: Effect.fnUntraced(function* (sender, { lanes, ofEach, ofOne }) {
    const { toBroadcast } = yield* Loads.burst(sender, sender.wide, 1, 1)
    // The second round of a process is a quarter faster than the first.
    yield* Loads.burst(sender, sender.wide, 1, ofOne)
    yield* Loads.burst(sender, sender.wide, lanes, ofEach)
    return toBroadcast
  }),
  contender: {
    name: "blast",
    run: (sender, { lanes, ofOne }) => Blast.run(sender, lanes, Math.ceil(ofOne / lanes))
  },
  names: Cases.names,
  cases: Cases.casesOf,
  goals: judged
}
