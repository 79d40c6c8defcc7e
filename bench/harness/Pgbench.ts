// Measures how many INSERTs PostgreSQL can commit without the service: pgbench sends the INSERT of a relayer, one
// transaction each. It uses as many connections as the HTTP load, at most the size of the service's pool.
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { execFile, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { promisify } from "node:util"
import { insert } from "../contenders/fastify/queries.ts"
import * as Fill from "./Fill.ts"
import type { Installation } from "./Installation.ts"
import { masterKeyOf } from "./Installation.ts"
import type { Reading, Target } from "./Measure.ts"
import * as ProcessTree from "./ProcessTree.ts"
import * as Writes from "./Writes.ts"

class PgbenchFailed extends Schema.TaggedError<PgbenchFailed>()("PgbenchFailed", { message: Schema.String }) {}

/** The default size of the service's connection pool. */
const pool = 10

const found = (folder: string) => path.join(folder, "pgbench")

export const contender = "pgbench"

/** In PATH, or in the folder of Debian's package. */
const binary: string | undefined = [
  "pgbench",
  ...(fs.existsSync("/usr/lib/postgresql")
    ? fs.readdirSync("/usr/lib/postgresql").map((version) => found(`/usr/lib/postgresql/${version}/bin`))
    : [])
].find((file) => spawnSync(file, ["--version"]).status === 0)

const values = [
  "gen_random_uuid()::text",
  "'Relayer of a benchmark'",
  "'sepolia'",
  "false",
  // pgbench takes a colon that is followed by a name for a variable.
  `'${JSON.stringify(Fill.policies).replaceAll(":", ": ")}'`,
  `'${Fill.freshSigner}' || lpad(:number::text, 9, '0')`
]

/** Undefined: pgbench is not installed. */
export const target = (installation: Installation): Target | undefined =>
  binary === undefined ? undefined : { server: { contender, url: "", pid: 0 }, installation }

/** Client c uses the numbers `from` + c + n × clients, so that each number is used once. */
const script = [
  "\\set n :n + 1",
  "\\set number :from + :n * :clients + :client_id",
  `${insert.text.replaceAll(/\$(\d)/g, (_, place) => values[Number(place) - 1] ?? "").replaceAll("\n", " ")};`
].join("\n")

/** The durations of all transactions in milliseconds, from the logs of pgbench, in ascending order. */
const latencies = (folder: string): ReadonlyArray<number> =>
  fs
    .readdirSync(folder)
    .filter((name) => name.startsWith("latency."))
    .flatMap((name) => fs.readFileSync(path.join(folder, name), "utf8").trim().split("\n"))
    .map((line) => Number(line.split(" ")[2]) / 1000)
    .toSorted((a, b) => a - b)

export const run = Effect.fnUntraced(function* (
  { folder, postgres, sql }: Installation,
  connections: number,
  seconds: number
) {
  const clients = Math.min(connections, pool)
  const onDatabase = Effect.provideService(SqlClient.SqlClient, sql)
  const from = (yield* onDatabase(Writes.freshSigners(Writes.fastest * seconds, masterKeyOf({ folder })))) + pool
  const work = fs.mkdtempSync(path.join(folder, "pgbench-"))
  const scriptFile = path.join(work, "insert.sql")
  fs.writeFileSync(scriptFile, `${script}\n`)
  const variables = [`n=0`, `from=${from}`, `clients=${clients}`].flatMap((each) => ["-D", each])
  const log = ["--log", `--log-prefix=${path.join(work, "latency")}`]
  const args = ["-n", "-M", "prepared", "-T", String(seconds), "-c", String(clients), ...variables, ...log]
  const server = ["-h", postgres.socketFolder, "-p", String(postgres.port), "-U", "relayer", "postgres"]
  const cpu0 = ProcessTree.cpuMs(postgres.pid)
  const own0 = ProcessTree.endedChildrenCpuMs()
  const file = binary ?? contender
  const { stdout } = yield* Effect.tryPromise({
    try: () => promisify(execFile)(file, [...args, "-f", scriptFile, ...server]),
    catch: (error) => new PgbenchFailed({ message: `pgbench: ${String(error)}` })
  })
  const sorted = latencies(work)
  fs.rmSync(work, { recursive: true })
  const quantile = (q: number) => sorted[Math.floor(sorted.length * q)] ?? Number.NaN
  const reading: Reading = {
    perSecond: Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]),
    p50: quantile(0.5),
    p99: quantile(0.99),
    serverMs: 0,
    postgresMs: (ProcessTree.cpuMs(postgres.pid) - cpu0) / sorted.length,
    generatorShare: (ProcessTree.endedChildrenCpuMs() - own0) / 1000 / seconds,
    resident: 0
  }
  return reading
})
