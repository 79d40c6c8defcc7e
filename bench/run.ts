// How fast the service is, beside contenders in the same run: ratios hold, absolute figures are of the machine and the hour.
//
//   npm run bench -- --quick
//   npm run bench -- --json results.json && npm run bench:report -- results.json
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Effect, Option } from "effect"
import { Command } from "effect/cli"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { cases } from "./harness/Cases.ts"
import * as Client from "./harness/Client.ts"
import * as Contenders from "./harness/Contenders.ts"
import * as Installation from "./harness/Installation.ts"
import * as Load from "./harness/Load.ts"
import * as Machine from "./harness/Machine.ts"
import * as Measure from "./harness/Measure.ts"
import type { Target } from "./harness/Measure.ts"
import { flags } from "./harness/Options.ts"
import * as Print from "./harness/Print.ts"
import type { Results, Row } from "./harness/Results.ts"

const scale = ({ quick, smoke }: { readonly quick: boolean; readonly smoke: boolean }) => {
  const names = cases.map(({ name }) => name)
  if (smoke) {
    return { cases: ["list", "get", "create"], sizes: [100], connections: [4], rounds: 1, seconds: 1, warmUp: 0 }
  }
  if (quick) return { cases: names, sizes: [1000, 100_000], connections: [64], rounds: 3, seconds: 2, warmUp: 1 }
  return { cases: names, sizes: [1000, 100_000, 1_000_000], connections: undefined, rounds: 5, seconds: 3, warmUp: 1 }
}

/** Everybody who answers for `size` relayers. */
const targets = Effect.fnUntraced(function* (
  size: number,
  takesPart: (contender: string) => boolean,
  against?: string
) {
  const found: Array<Target> = []
  const installation = yield* Installation.make(size, "service", Installation.root)
  found.push({ server: installation.service, installation })
  if (against !== undefined) {
    const other = yield* Installation.make(size, "before", against)
    found.push({ server: other.service, installation: other })
  }
  if (takesPart("fastify")) found.push({ server: yield* Contenders.fastify(installation), installation })
  const [first, ...others] = found.map(({ server }) => server)
  if (first !== undefined) {
    yield* Client.compare([first, ...others], "/api/v1/relayers?per_page=10")
    yield* Client.compare([first, ...others], `/api/v1/relayers/${Client.firstId(installation.ids)}`)
  }
  if (takesPart("limit")) found.push({ server: yield* Contenders.limit(installation), installation })
  yield* Console.log(`${size.toLocaleString("en")} relayers: ${found.map(({ server }) => server.contender).join(", ")}`)
  return found
})

const run = Effect.fnUntraced(function* (given: Command.Command.Config.Infer<typeof flags>) {
  const started = performance.now()
  const loadBefore = Machine.load()
  const chosen = scale(given)
  const sizes = Option.getOrElse(given.sizes, () => chosen.sizes)
  const rounds = {
    rounds: Option.getOrElse(given.rounds, () => chosen.rounds),
    seconds: Option.getOrElse(given.seconds, () => chosen.seconds),
    warmUp: chosen.warmUp
  }
  const names = Option.getOrElse(given.cases, () => chosen.cases)
  const against = Option.getOrUndefined(given.against)
  const takesPart = (contender: string) =>
    Option.match(given.contenders, { onNone: () => true, onSome: (names) => names.includes(contender) })
  if (given.build) {
    for (const cwd of [Installation.root, ...(against === undefined ? [] : [against])]) {
      execFileSync("npm", ["run", "--silent", "build"], { cwd, stdio: "inherit" })
    }
  }
  const all = (yield* Effect.forEach(sizes, (size) => targets(size, takesPart, against))).flat()
  const rows: Array<Row> = []
  for (const each of cases) {
    if (!names.includes(each.name)) continue
    const mine = all.filter(
      ({ server, installation }) =>
        each.contenders.includes(server.contender) && (each.sizes === "all" || installation.size === sizes[0])
    )
    for (const connections of Option.getOrElse(given.connections, () => chosen.connections ?? each.connections)) {
      const cells = mine.map((target) => ({
        contender: target.server.contender,
        size: target.installation.size,
        run: (seconds: number) => each.run(target, connections, seconds)
      }))
      const found = yield* Measure.alternate(each.name, connections, cells, rounds)
      yield* Console.log(`\n${each.name}: ${each.about}\n${Print.table(found)}`)
      rows.push(...found)
    }
  }
  const results: Results = {
    machine: Machine.describe(),
    generator: Load.generator,
    rounds: rounds.rounds,
    seconds: rounds.seconds,
    loadBefore,
    loadAfter: Machine.load(),
    minutes: Math.round((performance.now() - started) / 6000) / 10,
    rows,
    skipped: []
  }
  yield* Console.log(
    `\nload of the machine: ${results.loadBefore} before, ${results.loadAfter} at the end; ${results.minutes} minutes`
  )
  if (Option.isSome(given.json)) fs.writeFileSync(given.json.value, `${JSON.stringify(results, null, 2)}\n`)
})

Command.make("bench", flags, (given) => Effect.scoped(run(given))).pipe(
  Command.run({ version: "1" }),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
