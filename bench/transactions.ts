// Measures transactions from their request to their `confirmed` event on anvil, relative to a blast of signed transactions in the
// same run. Only the ratios are comparable between runs.
//
//   npm run bench:transactions
//   npm run bench:transactions -- --report bench
//   npm run bench:transactions -- --against ../before
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Array, Console, Effect, Option, References } from "effect"
import { Command, Flag } from "effect/cli"
import { execFileSync } from "node:child_process"
import * as path from "node:path"
import * as Document from "./harness/Document.ts"
import * as Installation from "./harness/Installation.ts"
import * as Machine from "./harness/Machine.ts"
import * as Names from "./harness/Names.ts"
import * as AcceptanceRates from "./transactions/Acceptance.ts"
import * as History from "./transactions/History.ts"
import * as Maintenance from "./transactions/Maintenance.ts"
import * as Report from "./transactions/Report.ts"
import type { Acceptance, Results } from "./transactions/Results.ts"
import * as Rounds from "./transactions/Rounds.ts"
import * as Scale from "./transactions/Scale.ts"
import * as World from "./transactions/World.ts"

type Network = keyof typeof World.makers

const networks = Object.keys(World.makers)

const networkOf = Option.liftPredicate((name: string): name is Network => networks.includes(name))

const flags = {
  smoke: Flag.Boolean("smoke").pipe(
    Flag.withDescription("A few transactions of each case: checks that each happens once, not the speed"),
    Flag.withDefault(false)
  ),
  rounds: Flag.Int("rounds").pipe(Flag.withDescription("Rounds of each case (default 2)"), Flag.optional),
  stored: Flag.Int("stored").pipe(
    Flag.withDescription("Final transactions of the second part (default 1000000; 0: no second part)"),
    Flag.optional
  ),
  cases: Flag.String("cases").pipe(
    Flag.withDescription(`Any of ${Rounds.names.join(", ")}, separated by commas (default all)`),
    Names.flag(Rounds.names),
    Flag.optional
  ),
  network: Flag.String("network").pipe(
    Flag.withDescription("Type of the network (default evm)"),
    Flag.filterMap(networkOf, () => `a network of the benchmark, which has only ${networks.join(", ")}`),
    Flag.withDefault("evm" as const)
  ),
  against: Flag.String("against").pipe(
    Flag.withDescription(
      "Folder of another installed checkout of the service, measured in turn as `before`; reports ratios"
    ),
    Flag.optional
  ),
  report: Flag.String("report").pipe(
    Flag.withDescription("Folder of performance.md, whose sections are written"),
    Flag.optional
  ),
  build: Flag.Boolean("build").pipe(
    Flag.withDescription("Builds the service first; --no-build uses the existing build"),
    Flag.withDefault(true)
  )
}

/** One part of the run: with `stored` final transactions. For each world in turn. */
const part = Effect.fnUntraced(function* (worlds: ReadonlyArray<World.World>, scale: Scale.Scale, stored: number) {
  const acceptances = Array.empty<Acceptance>()
  for (const world of worlds) {
    yield* Maintenance.take(world)
    acceptances.push({ stored, ...(yield* AcceptanceRates.measure(world, scale.acceptance)) })
  }
  yield* Effect.forEach(worlds, Maintenance.take, { discard: true })
  const measured = yield* Rounds.measure(worlds, scale, stored)
  return Array.zip(acceptances, measured).map(([acceptance, of]) => ({ acceptance, ...of }))
})

type Part = Effect.Success<ReturnType<typeof part>>[number]

const figuresOf = (parts: ReadonlyArray<Part>) => ({
  acceptances: parts.map(({ acceptance }) => acceptance),
  rows: parts.flatMap(({ rows }) => rows)
})

const build = (cwd: string) => execFileSync("npm", ["run", "--silent", "build"], { cwd, stdio: "inherit" })

const run = Effect.fnUntraced(function* (given: Scale.Given, network: Network, isBuilt: boolean) {
  const against = Option.map(given.against, (folder) => path.resolve(folder))
  if (!isBuilt) [Installation.root, ...Option.toArray(against)].forEach(build)
  const started = performance.now()
  const loadBefore = Machine.load()
  const scale = Scale.of(given)
  const make = World.makers[network]
  const worlds = [yield* make("now", Installation.root, scale.lanes)]
  if (Option.isSome(against)) worlds.push(yield* make("before", against.value, scale.lanes))
  yield* Effect.forEach(worlds, Maintenance.postpone, { discard: true })
  const parts = [yield* part(worlds, scale, 0)]
  if (scale.stored > 0) {
    yield* Effect.forEach(worlds, (world) => History.fill(world, scale.stored), { discard: true })
    parts.push(yield* part(worlds, scale, scale.stored))
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

Command.make("bench:transactions", flags, ({ report, network, build, ...given }) =>
  Effect.gen(function* () {
    const results = yield* run(given, network, !build)
    yield* Console.log(Report.text(results))
    if (Option.isSome(report)) {
      yield* Document.write(path.join(report.value, "performance.md"), Report.sections(results))
    }
  }).pipe(Effect.scoped)
).pipe(
  Command.run({ version: "1" }),
  Effect.provideService(References.MinimumLogLevel, "Warn"),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
