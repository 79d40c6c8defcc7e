// The benchmark of transactions on the stand-in ledger.
import { Effect } from "effect"
import * as Loads from "../Loads.ts"
import type { Network } from "../Network.ts"
import * as Cases from "./Cases.ts"
import { contender, judged } from "./Goals.ts"
import * as History from "./History.ts"
import * as RawSender from "./RawSender.ts"
import * as Scale from "./Scale.ts"
import * as World from "./World.ts"

export const stellar: Network<World.StellarWorld, Scale.StellarScale> = {
  scales: { full: Scale.full, smoke: Scale.smoke },
  make: World.make,
  fill: History.fill,
  warmUp: Effect.fnUntraced(function* (sender, { few, many }) {
    const { toBroadcast } = yield* Loads.burst(sender, sender.plain, 1, 1)
    yield* World.makeChannels(sender, sender.few, few)
    yield* World.makeChannels(sender, sender.many, many)
    // Each relayer has a lane then, and code that was used once is faster.
    yield* Loads.burst(sender, sender.plain, sender.plain.relayers.length, 2)
    yield* Loads.burst(sender, sender.few, 1, 4 * few)
    return toBroadcast
  }),
  contender: { name: contender, run: (sender, { sponsors, users }) => RawSender.run(sender, sponsors * users) },
  names: Cases.names,
  cases: Cases.casesOf,
  goals: judged
}
