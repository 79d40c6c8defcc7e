// Runs the cases of a network in turn, round by round, so that other load on the machine affects all of them.
import { Console, Effect } from "effect"
import * as Maintenance from "./Maintenance.ts"
import type { Network } from "./Network.ts"
import { summary } from "./Results.ts"
import type { Figures } from "./Results.ts"
import type { Scale } from "./Scale.ts"
import * as Usage from "./Usage.ts"
import * as World from "./World.ts"

/**
 * Seconds after a block at which `count` runs begin, evenly spread. A case ends with a block: if it always began at the same
 * time after one, it would take a whole number of blocks, and a little more speed would change nothing or a whole second.
 */
const beginnings = (count: number, blockTime: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => ((index + 0.5) / count) * blockTime)

/** Calls after nothing is open any more. Lanes may still be held. */
const idleCalls = Effect.fnUntraced(function* (sender: World.Sender, seconds: number) {
  yield* Effect.sleep("5 seconds")
  const before = yield* Usage.read(sender)
  yield* Effect.sleep(seconds * 1000)
  return (yield* Usage.read(sender)).calls - before.calls
})

/** Starts the service that sends, and sends what is not measured. */
const warmUp = Effect.fnUntraced(function* <W extends World.World, S extends Scale>(
  network: Network<W, S>,
  world: W,
  scale: S,
  stored: number
) {
  const sender = yield* World.startSender(world)
  const firstOfProcess = yield* network.warmUp(sender, scale)
  const idle = stored === 0 ? yield* idleCalls(sender, scale.idleSeconds) : 0
  const found = Object.entries(network.cases(sender, scale))
    .filter(([name]) => scale.cases === undefined || scale.cases.includes(name))
    .map(([name, run]) => ({ name, run, rounds: [] as Array<Figures> }))
  return { sender, found, firstOfProcess, idleCalls: idle, contended: [] as Array<Figures> }
})

/** In turn, round by round. `stored`: final transactions that are there already. */
export const measure = Effect.fnUntraced(function* <W extends World.World, S extends Scale>(
  network: Network<W, S>,
  worlds: ReadonlyArray<W>,
  scale: S,
  stored: number
) {
  const { contender } = network
  const parts = yield* Effect.forEach(worlds, (world) => warmUp(network, world, scale, stored))
  yield* Effect.forEach(worlds, Maintenance.analyze, { discard: true })
  const blockTime = worlds[0]?.blockTime ?? 1
  const ofContender = beginnings(scale.rounds * (parts[0]?.found.length ?? 0), blockTime)
  for (const ofRound of beginnings(scale.rounds, blockTime)) {
    for (const index of parts[0]?.found.keys() ?? []) {
      for (const { contended, found, sender } of parts) {
        const { name, run, rounds } = found[index] ?? (yield* Effect.die(new Error("no case")))
        yield* sender.heads.after(ofContender[contended.length] ?? 0)
        contended.push(yield* contender.run(sender, scale))
        yield* sender.heads.after(ofRound)
        const figures = yield* run
        yield* Console.log(`${name}, ${sender.version}: ${JSON.stringify(figures)}`)
        rounds.push(figures)
      }
    }
  }
  return parts.map(({ contended, found, firstOfProcess, idleCalls }) => ({
    rows: [
      summary(contender.name, stored, contended),
      ...found.map(({ name, rounds }) => summary(name, stored, rounds))
    ],
    firstOfProcess,
    idleCalls
  }))
}, Effect.scoped)
