// The results of a run, which are written to a file and read by the report.
import { Effect, Schema } from "effect"
import * as fs from "node:fs"

/** A contender in a case, with medians over the rounds. */
export const Row = Schema.Struct({
  case: Schema.String,
  connections: Schema.Finite,
  contender: Schema.String,
  /** Relayers. */
  size: Schema.Finite,
  perSecond: Schema.Finite,
  /** Milliseconds. */
  p50: Schema.Finite,
  p99: Schema.Finite,
  /** Milliseconds of processor time per request. */
  serverMs: Schema.Finite,
  postgresMs: Schema.Finite,
  /** CPU time of the load generator, as a share of one core. */
  generatorShare: Schema.Finite,
  /** MiB. */
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
  /** Milliseconds to the first 200: median, and of each start. */
  ms: Schema.Finite,
  each: Schema.Array(Schema.Finite),
  /** Medians. */
  steps: Schema.Array(Schema.Struct({ name: Schema.String, ms: Schema.Finite }))
})
export type Start = typeof Start.Type

export const Memory = Schema.Struct({
  /** MiB without relayers and requests: resident of the service, proportional of its PostgreSQL. */
  idle: Schema.Struct({ service: Schema.Finite, postgres: Schema.Finite }),
  minutes: Schema.Finite,
  requests: Schema.Finite,
  /** Minutes since the load began, MiB resident of the service. */
  samples: Schema.Array(Schema.Tuple([Schema.Finite, Schema.Finite])),
  /** MiB per minute by least squares, without the first fifth. */
  slope: Schema.Finite,
  standardError: Schema.Finite
})
export type Memory = typeof Memory.Type

export const Results = Schema.Struct({
  machine: Machine,
  generator: Schema.String,
  rounds: Schema.Finite,
  /** Of a round. */
  seconds: Schema.Finite,
  /** Load average of the machine before and at the end of the run. */
  loadBefore: Schema.Finite,
  loadAfter: Schema.Finite,
  minutes: Schema.Finite,
  rows: Schema.Array(Row),
  starts: Schema.Array(Start),
  memory: Schema.optionalKey(Memory),
  /** What was not measured, with the reason. */
  skipped: Schema.Array(Schema.String)
})
export type Results = typeof Results.Type

const json = Schema.fromJsonString(Results)

export const write = (file: string, results: Results) =>
  Effect.sync(() => fs.writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`))

export const read = (file: string) => Schema.decodeEffect(json)(fs.readFileSync(file, "utf8"))
