// Measures transactions from their request to their `confirmed` event on anvil, relative to a blast of signed transactions in the
// same run. Only the ratios are comparable between runs.
//
//   npm run bench:transactions
//   npm run bench:transactions -- --report docs
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Effect, Option, References } from "effect"
import { Command, Flag } from "effect/cli"
import { execFileSync } from "node:child_process"
import * as path from "node:path"
import * as Document from "./harness/Document.ts"
import * as Installation from "./harness/Installation.ts"
import * as Machine from "./harness/Machine.ts"
import * as Names from "./harness/Names.ts"
import * as Acceptance from "./transactions/Acceptance.ts"
import * as History from "./transactions/History.ts"
import * as Maintenance from "./transactions/Maintenance.ts"
import * as Report from "./transactions/Report.ts"
import type { Results } from "./transactions/Results.ts"
import * as Rounds from "./transactions/Rounds.ts"
import * as Scale from "./transactions/Scale.ts"
import * as World from "./transactions/World.ts"

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
  report: Flag.String("report").pipe(
    Flag.withDescription("Folder of performance.md, whose sections are written"),
    Flag.optional
  ),
  build: Flag.Boolean("build").pipe(
    Flag.withDescription("Builds the service first; --no-build uses the existing build"),
    Flag.withDefault(true)
  )
}

/** One part of the run: with `stored` final transactions. */
const part = Effect.fnUntraced(function* (world: World.World, scale: Scale.Scale, stored: number) {
  yield* Maintenance.take(world)
  const acceptance = { stored, ...(yield* Acceptance.measure(world, scale.acceptance)) }
  yield* Maintenance.take(world)
  const rounds = yield* Rounds.measure(world, scale, stored)
  return { acceptance, ...rounds }
})

const run = Effect.fnUntraced(function* (given: Scale.Given, build: boolean) {
  if (build) execFileSync("npm", ["run", "--silent", "build"], { cwd: Installation.root, stdio: "inherit" })
  const started = performance.now()
  const loadBefore = Machine.load()
  const scale = Scale.of(given)
  const world = yield* World.make(scale.lanes)
  yield* Maintenance.postpone(world)
  const empty = yield* part(world, scale, 0)
  if (scale.stored > 0) yield* History.fill(world, scale.stored)
  const parts = scale.stored > 0 ? [empty, yield* part(world, scale, scale.stored)] : [empty]
  const results: Results = {
    machine: Machine.describe(),
    loadBefore,
    loadAfter: Machine.load(),
    minutes: Math.round((performance.now() - started) / 6000) / 10,
    rounds: scale.rounds,
    acceptances: parts.map(({ acceptance }) => acceptance),
    rows: parts.flatMap(({ rows }) => rows),
    firstOfProcess: empty.firstOfProcess,
    idleCalls: empty.idleCalls
  }
  return results
})

Command.make("bench:transactions", flags, ({ report, build, ...given }) =>
  Effect.gen(function* () {
    const results = yield* run(given, build)
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
