// What a run has found, as it is written to a file and read by the report.
import { Schema } from "effect"

/** A contender in a case: medians over the rounds. */
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
  /** Of one core. */
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

export const Results = Schema.Struct({
  machine: Machine,
  generator: Schema.String,
  /** Rounds of so many seconds. */
  rounds: Schema.Finite,
  seconds: Schema.Finite,
  /** Of the machine, in the minute before the run, and in its last. */
  loadBefore: Schema.Finite,
  loadAfter: Schema.Finite,
  minutes: Schema.Finite,
  rows: Schema.Array(Row),
  /** What was not measured, and why. */
  skipped: Schema.Array(Schema.String)
})
export type Results = typeof Results.Type
