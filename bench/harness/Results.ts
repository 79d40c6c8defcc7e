// The results of a run, which are written to a file and read by the report.
import { Effect, Schema } from "effect"
import * as fs from "node:fs"

/** A contender in a case, with medians over the rounds. */
export const Row = Schema.Struct({
  case: Schema.String,
  connections: Schema.Finite,
  contender: Schema.String,
  /** The number of relayers. */
  size: Schema.Finite,
  perSecond: Schema.Finite,
  /** Milliseconds. */
  p50: Schema.Finite,
  p99: Schema.Finite,
  /** CPU time per request, in milliseconds. */
  serverMs: Schema.Finite,
  postgresMs: Schema.Finite,
  /** CPU time of the load generator, as a share of one core. */
  generatorShare: Schema.Finite,
  /** Resident memory in MiB. */
  resident: Schema.Finite,
  /** Requests per second of each round. */
  rounds: Schema.Array(Schema.Finite)
})
export type Row = typeof Row.Type

const Machine = Schema.Struct({
  processor: Schema.String,
  cores: Schema.Finite,
  memoryGiB: Schema.Finite,
  system: Schema.String,
  node: Schema.String
})

export const Start = Schema.Struct({
  kind: Schema.Literals(["DATABASE_URL", "embedded, with data", "embedded, first time"]),
  /** Milliseconds to the first 200: the median, and each start. */
  ms: Schema.Finite,
  each: Schema.Array(Schema.Finite),
  /** The medians of each step. */
  steps: Schema.Array(Schema.Struct({ name: Schema.String, ms: Schema.Finite }))
})
export type Start = typeof Start.Type

export const Memory = Schema.Struct({
  /** Without relayers and requests, in MiB: resident memory of the service, proportional memory of its PostgreSQL. */
  idle: Schema.Struct({ service: Schema.Finite, postgres: Schema.Finite }),
  minutes: Schema.Finite,
  requests: Schema.Finite,
  /** Minutes since the load began, and resident memory of the service in MiB. */
  samples: Schema.Array(Schema.Tuple([Schema.Finite, Schema.Finite])),
  /** Growth in MiB per minute: the slope of a least-squares line without the first fifth of the time. */
  slope: Schema.Finite,
  standardError: Schema.Finite
})
export type Memory = typeof Memory.Type

export const Results = Schema.Struct({
  machine: Machine,
  generator: Schema.String,
  rounds: Schema.Finite,
  /** Duration of a round. */
  seconds: Schema.Finite,
  /** Load average of the machine before and at the end of the run. */
  loadBefore: Schema.Finite,
  loadAfter: Schema.Finite,
  minutes: Schema.Finite,
  rows: Schema.Array(Row),
  starts: Schema.Array(Start),
  memory: Schema.optionalKey(Memory),
  /** The contenders that were not measured, with the reason. */
  skipped: Schema.Array(Schema.String)
})
export type Results = typeof Results.Type

const json = Schema.fromJsonString(Results)

export const write = (file: string, results: Results) =>
  Effect.sync(() => fs.writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`))

export const read = (file: string) => Schema.decodeEffect(json)(fs.readFileSync(file, "utf8"))
