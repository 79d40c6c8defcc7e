// The benchmark of transactions on the stand-in cluster.
import { Effect } from "effect"
import * as Loads from "../Loads.ts"
import type { Network } from "../Network.ts"
import * as Cases from "./Cases.ts"
import { contender, judged } from "./Goals.ts"
import * as History from "./History.ts"
import * as RawSender from "./RawSender.ts"
import * as Scale from "./Scale.ts"
import * as World from "./World.ts"

export const solana: Network<World.SolanaWorld, Scale.SolanaScale> = {
  scales: { full: Scale.full, smoke: Scale.smoke },
  make: World.make,
  fill: History.fill,
  warmUp: Effect.fnUntraced(function* (sender, { lanes, ofEach }) {
    const { toBroadcast } = yield* Loads.burst(sender, sender.wide, 1, 1)
    yield* Loads.burst(sender, sender.usual, lanes, ofEach)
    return toBroadcast
  }),
  contender: { name: contender, run: (sender, { ofOne }) => RawSender.run(sender, ofOne) },
  names: Cases.names,
  cases: Cases.casesOf,
  goals: judged
}
