// Measures the time from the start of the service to its first 200, by step: with an external PostgreSQL, with the embedded
// one and existing data, and with the embedded one for the first time.
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Folder from "./Folder.ts"
import * as Installation from "./Installation.ts"
import type { Mark } from "./Marks.ts"
import type { Start } from "./Results.ts"
import { median } from "./Statistics.ts"

type Step = Start["steps"][number]

const marksOf = (file: string): ReadonlyArray<Mark> => JSON.parse(fs.readFileSync(file, "utf8"))

/** The time between marks. A step that did not happen takes 0. */
const stepsOf = (marks: ReadonlyArray<Mark>, total: number): ReadonlyArray<Step> => {
  const at = (what: Mark["what"]) => marks.find((mark) => mark.what === what)?.at
  const socket = at("socket") ?? total
  const postgres = at("postgres")
  const initdb = at("initdb")
  const loaded = initdb ?? postgres ?? socket
  return [
    { name: "Node", ms: at("node") ?? 0 },
    { name: "modules, settings", ms: loaded - (at("node") ?? 0) },
    { name: "initdb", ms: initdb === undefined ? 0 : (at("initdb ended") ?? 0) - initdb },
    { name: "postgres", ms: postgres === undefined ? 0 : socket - (at("initdb ended") ?? postgres) },
    { name: "schema, services", ms: (at("listen") ?? total) - socket },
    { name: "first request", ms: total - (at("listen") ?? total) }
  ]
}

const once = (options: Installation.ServiceOptions) =>
  Effect.scoped(
    Effect.gen(function* () {
      const file = path.join(options.dataDir, "marks")
      const { startMs } = yield* Installation.startService({
        ...options,
        node: ["--import", path.join(import.meta.dirname, "Marks.ts")],
        env: { ...options.env, BENCH_MARKS: file }
      })
      return { ms: startMs, steps: stepsOf(marksOf(file), startMs) }
    })
  )

type Once = Effect.Success<ReturnType<typeof once>>

const summary = (kind: Start["kind"], starts: ReadonlyArray<Once>): Start => ({
  kind,
  ms: median(starts.map(({ ms }) => ms)),
  each: starts.map(({ ms }) => ms),
  steps: (starts[0]?.steps ?? []).map(({ name }, index) => ({
    name,
    ms: median(starts.map(({ steps }) => steps[index]?.ms ?? 0))
  }))
})

/** Measures the three kinds in turn. `installation` provides the external database. */
export const measure = Effect.fnUntraced(function* (installation: Installation.Installation, times: number) {
  const service = { contender: "service", checkout: Installation.root }
  const kept = { ...service, dataDir: yield* Folder.temporary }
  const given = { ...service, dataDir: yield* Folder.temporary, env: Installation.databaseOf(installation) }
  yield* once(kept)
  const starts: Record<Start["kind"], Array<Once>> = {
    DATABASE_URL: [],
    "embedded, with data": [],
    "embedded, first time": []
  }
  for (let time = 0; time < times; time++) {
    starts.DATABASE_URL.push(yield* once(given))
    starts["embedded, with data"].push(yield* once(kept))
    const fresh = Effect.flatMap(Folder.temporary, (dataDir) => once({ ...service, dataDir }))
    starts["embedded, first time"].push(yield* Effect.scoped(fresh))
  }
  return [
    summary("DATABASE_URL", starts.DATABASE_URL),
    summary("embedded, with data", starts["embedded, with data"]),
    summary("embedded, first time", starts["embedded, first time"])
  ]
})
