// One run of the benchmark of transactions on one network: without stored transactions, then with them.
import { Array, Effect, Option, Schema } from "effect"
import * as path from "node:path"
import * as Installation from "../harness/Installation.ts"
import * as Machine from "../harness/Machine.ts"
import * as AcceptanceRates from "./Acceptance.ts"
import * as Maintenance from "./Maintenance.ts"
import type { Network } from "./Network.ts"
import type { Acceptance, Results } from "./Results.ts"
import * as Rounds from "./Rounds.ts"
import * as Scale from "./Scale.ts"
import type { World } from "./World.ts"

/** A run without cases would pass. */
class UnknownCase extends Schema.TaggedError<UnknownCase>()("UnknownCase", { message: Schema.String }) {}

/** One part of the run: with `stored` final transactions. For each world in turn. */
const part = Effect.fnUntraced(function* <W extends World, S extends Scale.Scale>(
  network: Network<W, S>,
  worlds: ReadonlyArray<W>,
  scale: S,
  stored: number
) {
  const acceptances = Array.empty<Acceptance>()
  for (const world of worlds) {
    yield* Maintenance.take(world)
    acceptances.push({ stored, ...(yield* AcceptanceRates.measure(world, scale.acceptance)) })
  }
  yield* Effect.forEach(worlds, Maintenance.take, { discard: true })
  const measured = yield* Rounds.measure(network, worlds, scale, stored)
  return Array.zip(acceptances, measured).map(([acceptance, of]) => ({ acceptance, ...of }))
})

type Part = Effect.Success<ReturnType<typeof part>>[number]

const figuresOf = (parts: ReadonlyArray<Part>) => ({
  acceptances: parts.map(({ acceptance }) => acceptance),
  rows: parts.flatMap(({ rows }) => rows)
})

const refuseUnknown = (names: ReadonlyArray<string>, given: ReadonlyArray<string> = []) => {
  const unknown = given.find((name) => !names.includes(name))
  return unknown === undefined
    ? Effect.void
    : Effect.fail(new UnknownCase({ message: `--cases: this network has no case ${unknown}, but ${names.join(", ")}` }))
}

/** The builds of this checkout, and of `against`, exist. */
const run = Effect.fnUntraced(function* <W extends World, S extends Scale.Scale>(
  network: Network<W, S>,
  given: Scale.Given
) {
  const scale = Scale.of(network.scales, given)
  yield* refuseUnknown(network.names, scale.cases)
  const started = performance.now()
  const loadBefore = Machine.load()
  const worlds = [yield* network.make("now", Installation.root, scale)]
  if (Option.isSome(given.against)) {
    worlds.push(yield* network.make("before", path.resolve(given.against.value), scale))
  }
  yield* Effect.forEach(worlds, Maintenance.postpone, { discard: true })
  const parts = [yield* part(network, worlds, scale, 0)]
  if (scale.stored > 0) {
    yield* Effect.forEach(worlds, (world) => network.fill(world, scale.stored), { discard: true })
    parts.push(yield* part(network, worlds, scale, scale.stored))
  }
  const [now = [], ...others] = worlds.map((_, index) => parts.flatMap((all) => all[index] ?? []))
  const [before] = others
  const results: Results = {
    machine: Machine.describe(),
    loadBefore,
    loadAfter: Machine.load(),
    minutes: Math.round((performance.now() - started) / 6000) / 10,
    rounds: scale.rounds,
    ...figuresOf(now),
    ...(before === undefined ? {} : { before: figuresOf(before) }),
    firstOfProcess: now[0]?.firstOfProcess ?? Number.NaN,
    idleCalls: now[0]?.idleCalls ?? Number.NaN
  }
  return results
})

/** What the command does with a network, whose types nothing else needs. */
export const on = <W extends World, S extends Scale.Scale>(network: Network<W, S>) => ({
  run: (given: Scale.Given) => run(network, given),
  names: network.names,
  goals: network.goals
})
