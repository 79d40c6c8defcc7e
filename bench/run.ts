// Measures how fast the service is, relative to contenders in the same run. Only the ratios are comparable between runs:
// absolute figures depend on the machine and on its other load.
//
//   npm run bench -- --quick
//   npm run bench -- --json results.json && npm run bench:report -- results.json
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Effect, Option } from "effect"
import { Command } from "effect/cli"
import { execFileSync } from "node:child_process"
import * as path from "node:path"
import { cases, mixOfReadsAndCreates, warm } from "./harness/Cases.ts"
import * as Consoles from "./harness/Consoles.ts"
import * as Goals from "./harness/Goals.ts"
import * as Installation from "./harness/Installation.ts"
import * as Load from "./harness/Load.ts"
import * as Machine from "./harness/Machine.ts"
import * as Measure from "./harness/Measure.ts"
import type { Target } from "./harness/Measure.ts"
import * as Memory from "./harness/Memory.ts"
import { flags } from "./harness/Options.ts"
import type { Given } from "./harness/Options.ts"
import * as Print from "./harness/Print.ts"
import * as Results from "./harness/Results.ts"
import * as Scale from "./harness/Scale.ts"
import * as Starts from "./harness/Starts.ts"
import * as Targets from "./harness/Targets.ts"

const build = (cwd: string) => execFileSync("npm", ["run", "--silent", "build"], { cwd, stdio: "inherit" })

/** Measures the contenders in turn, for each case and each number of connections. */
const measureRows = Effect.fnUntraced(function* (targets: ReadonlyArray<Target>, scale: Scale.Scale) {
  const rows: Array<Results.Row> = []
  if (scale.warmUp > 0) yield* Effect.forEach(targets, warm)
  for (const { name, about, sizes, contenders, connections, run } of cases) {
    if (!scale.cases.includes(name)) continue
    for (const count of scale.connections ?? connections) {
      const everySize = sizes === "all" && count === Goals.usualConnections
      const cells = targets
        .filter(({ server }) => contenders.includes(server.contender))
        .filter(({ installation: { size } }) => everySize || size === scale.sizes[0])
        .map((target) => ({
          target,
          run: (seconds: number) => Consoles.beside(target.consoles ?? [], run(target, count, seconds))
        }))
      const found = yield* Measure.alternate(name, count, cells, scale)
      if (found.length > 0) yield* Console.log(`\n${name}: ${about}\n${Print.rows(found)}`)
      rows.push(...found)
    }
  }
  return rows
})

const run = Effect.fnUntraced(function* (given: Given) {
  const started = performance.now()
  const loadBefore = Machine.load()
  const scale = Scale.of(given)
  const against = Option.getOrUndefined(Option.map(given.against, (folder) => path.resolve(folder)))
  if (given.build) [Installation.root, ...(against === undefined ? [] : [against])].forEach(build)

  yield* Console.log(
    `${Load.generator} sends; rate limits are on but never reached, jobs and access log are off, logs go to a file\n` +
      "ratio: requests per second, relative to the first line of the same size"
  )
  const { targets, skipped } = yield* Targets.make({
    ...scale,
    given: given.contenders,
    against,
    consoles: given.consoles
  })
  const rows = yield* measureRows(targets, scale)

  const [first] = targets
  const starts =
    first === undefined || !scale.cases.includes("starts")
      ? []
      : yield* Starts.measure(first.installation, scale.starts)
  if (starts.length > 0) yield* Console.log(`\nstarts: milliseconds to the first 200\n${Print.starts(starts)}`)

  const memory = scale.cases.includes("memory")
    ? { memory: yield* Memory.measure(mixOfReadsAndCreates, scale.sizes[0] ?? 0, scale.minutes) }
    : {}

  const results: Results.Results = {
    machine: Machine.describe(),
    generator: Load.generator,
    rounds: scale.rounds,
    seconds: scale.seconds,
    loadBefore,
    loadAfter: Machine.load(),
    minutes: Math.round((performance.now() - started) / 6000) / 10,
    rows,
    starts,
    ...memory,
    skipped
  }
  const goals = Goals.judged(results)
  if (goals.length > 0) yield* Console.log(`\n${Print.goals(goals)}`)
  for (const line of skipped) yield* Console.log(`not measured: ${line}`)
  yield* Console.log(
    `load average of the machine: ${results.loadBefore} before, ${results.loadAfter} after; ${results.minutes} minutes`
  )
  if (Option.isSome(given.json)) yield* Results.write(given.json.value, results)
})

Command.make("bench", flags, (given) => Effect.scoped(run(given))).pipe(
  Command.run({ version: "1" }),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
