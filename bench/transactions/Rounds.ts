// Runs the cases in turn, round by round, so that other load on the machine affects all of them.
import { Console, Effect } from "effect"
import * as Blast from "./Blast.ts"
import * as Cases from "./Cases.ts"
import * as Commands from "./Commands.ts"
import type { NotConfirmed } from "./Confirmations.ts"
import type { HttpFailed } from "./Http.ts"
import { figuresOf, latencies, summary, withoutRates } from "./Results.ts"
import type { Figures } from "./Results.ts"
import type { Scale } from "./Scale.ts"
import * as Usage from "./Usage.ts"
import * as World from "./World.ts"

/** Names without a comma, because the command line separates them by commas. */
export const names = [
  "one lane",
  "twenty lanes",
  "single",
  "commands",
  "50/s in one lane",
  "50/s in twenty lanes",
  "drain",
  "20 each in a default window",
  "100 each in a default window"
] as const

/** Per second. */
const steadyRate = 50

/**
 * Seconds after a block at which `count` runs begin, evenly spread. A case ends with a block: if it always began at the same
 * time after one, it would take a whole number of blocks, and a little more speed would change nothing or a whole second.
 */
const beginnings = (count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => ((index + 0.5) / count) * World.blockTime)

type Errors = Effect.Error<ReturnType<typeof Cases.single>> | NotConfirmed | HttpFailed

const casesOf = (sender: World.Sender, scale: Scale) => {
  const { commanded, lanes, ofOne, ofEach, singles, steadySeconds, usual } = scale
  const cases: Readonly<Record<(typeof names)[number], Effect.Effect<Figures, Errors>>> = {
    "one lane": Effect.map(Cases.burst(sender, sender.wide, 1, ofOne), figuresOf),
    "twenty lanes": Effect.map(Cases.burst(sender, sender.wide, lanes, ofEach), figuresOf),
    single: Effect.map(Cases.single(sender, singles), latencies),
    commands: Commands.commands(sender, commanded),
    "50/s in one lane": Effect.map(Cases.steady(sender, 1, steadyRate, steadySeconds), withoutRates),
    "50/s in twenty lanes": Effect.map(Cases.steady(sender, lanes, steadyRate, steadySeconds), withoutRates),
    drain: Effect.map(Cases.drain(sender, lanes, Math.ceil(ofOne / lanes)), withoutRates),
    "20 each in a default window": Effect.map(Cases.burst(sender, sender.usual, lanes, usual.few), figuresOf),
    "100 each in a default window": Effect.map(Cases.burst(sender, sender.usual, lanes, usual.many), figuresOf)
  }
  return Object.entries(cases).filter(([name]) => scale.cases === undefined || scale.cases.includes(name))
}

/** Calls after the lanes were given back. */
const idleCalls = Effect.fnUntraced(function* (sender: World.Sender, seconds: number) {
  yield* Effect.sleep("5 seconds")
  const before = yield* Usage.read(sender)
  yield* Effect.sleep(seconds * 1000)
  return (yield* Usage.read(sender)).calls - before.calls
})

/** Starts the service that sends, and sends what is not measured. */
const warmUp = Effect.fnUntraced(function* (world: World.World, scale: Scale, stored: number) {
  const sender = yield* World.startSender(world)
  const { toBroadcast } = yield* Cases.burst(sender, sender.wide, 1, 1)
  // The second round of a process is a quarter faster than the first.
  yield* Cases.burst(sender, sender.wide, 1, scale.ofOne)
  yield* Cases.burst(sender, sender.wide, scale.lanes, scale.ofEach)
  const idle = stored === 0 ? yield* idleCalls(sender, scale.idleSeconds) : 0
  return { sender, firstOfProcess: toBroadcast, idleCalls: idle, blasts: [] as Array<Figures> }
})

/** In turn, round by round. `stored`: final transactions that are there already. */
export const measure = Effect.fnUntraced(function* (worlds: ReadonlyArray<World.World>, scale: Scale, stored: number) {
  const warm = yield* Effect.forEach(worlds, (world) => warmUp(world, scale, stored))
  const parts = warm.map((part) => ({
    ...part,
    found: casesOf(part.sender, scale).map(([name, run]) => ({ name, run, rounds: [] as Array<Figures> }))
  }))
  const ofBlasts = beginnings(scale.rounds * (parts[0]?.found.length ?? 0))
  for (const ofRound of beginnings(scale.rounds)) {
    for (const index of parts[0]?.found.keys() ?? []) {
      for (const { blasts, found, sender } of parts) {
        const { name, run, rounds } = found[index] ?? (yield* Effect.die(new Error("no case")))
        yield* sender.heads.after(ofBlasts[blasts.length] ?? 0)
        blasts.push(yield* Blast.run(sender, scale.lanes, Math.ceil(scale.ofOne / scale.lanes)))
        yield* sender.heads.after(ofRound)
        const figures = yield* run
        yield* Console.log(`${name}, ${sender.version}: ${JSON.stringify(figures)}`)
        rounds.push(figures)
      }
    }
  }
  return parts.map(({ blasts, found, firstOfProcess, idleCalls }) => ({
    rows: [summary("blast", stored, blasts), ...found.map(({ name, rounds }) => summary(name, stored, rounds))],
    firstOfProcess,
    idleCalls
  }))
}, Effect.scoped)
