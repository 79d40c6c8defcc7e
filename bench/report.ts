// Writes the results of a run into the marked sections of `bench/performance.md`, and the charts beside it.
//
//   npm run bench:report -- results.json [folder of performance.md]
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Chart from "./harness/Chart.ts"
import * as Document from "./harness/Document.ts"
import * as Goals from "./harness/Goals.ts"
import * as Markdown from "./harness/Markdown.ts"
import * as Results from "./harness/Results.ts"

const words = {
  file: Argument.Path("results", { pathType: "file", mustExist: true }).pipe(
    Argument.withDescription("File that `npm run bench -- --json` has written")
  ),
  folder: Argument.Path("folder", { pathType: "directory", mustExist: true }).pipe(
    Argument.withDescription("Folder of performance.md (default bench)"),
    Argument.withDefault(import.meta.dirname)
  )
}

/** A bar per row of the service: its requests per second divided by those of Fastify. */
const requestsChart = ({ rows }: Results.Results) => {
  const bars = rows.flatMap((row) => {
    const fastify = rows.find(
      (each) =>
        each.contender === "fastify" &&
        each.case === row.case &&
        each.size === row.size &&
        each.connections === row.connections
    )
    if (row.contender !== "service" || fastify === undefined) return []
    const ratio = row.perSecond / fastify.perSecond
    const label = `${row.case}, ${row.size.toLocaleString("en")}, ${row.connections} conn.`
    return [{ label, values: [ratio], caption: `${ratio.toFixed(2)} ×` }]
  })
  return Chart.bars("Requests per second, as a multiple of Fastify's", ["effect-relayer"], bars, {
    at: 1,
    caption: "Fastify"
  })
}

const startsChart = ({ starts }: Results.Results) =>
  Chart.bars(
    "From start to first 200, by step",
    (starts[0]?.steps ?? []).map(({ name }) => name),
    starts.map(({ kind, ms, steps }) => ({
      label: kind,
      values: steps.map((step) => step.ms),
      caption: `${ms.toFixed(0)} ms`
    }))
  )

const write = Effect.fnUntraced(function* ({ file, folder }: Command.Command.Config.Infer<typeof words>) {
  const results = yield* Results.read(file)
  const { memory, rows, starts } = results

  const sections: Record<string, string> = {
    machine: Markdown.machine(results),
    goals: Markdown.goals(Goals.judged(results)),
    requests: `${Markdown.requests(rows)}\n\n![Requests per second](performance-requests.svg)`
  }
  const charts: Record<string, string> = { "performance-requests.svg": requestsChart(results) }
  if (starts.length > 0) {
    sections.starts = `${Markdown.starts(starts)}\n\n![Starts](performance-starts.svg)`
    charts["performance-starts.svg"] = startsChart(results)
  }
  if (memory !== undefined) {
    sections.memory = `${Markdown.memory(memory)}\n\n![Memory](performance-memory.svg)`
    const title = "Resident memory of the service under load"
    charts["performance-memory.svg"] = Chart.curve(title, memory.samples, ["minutes", "MiB"])
  }

  const document = path.join(folder, "performance.md")
  yield* Document.write(document, sections)
  for (const [name, svg] of Object.entries(charts)) fs.writeFileSync(path.join(folder, name), svg)
  yield* Console.log(`${document}: ${[...Object.keys(sections), ...Object.keys(charts)].join(", ")}`)
})

export const command = Command.make("bench:report", words, write)

if (import.meta.main)
  command.pipe(Command.run({ version: "1" }), Effect.provide(NodeServices.layer), NodeRuntime.runMain)
