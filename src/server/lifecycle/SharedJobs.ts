// The jobs to which each feature adds a task of its own: one measures gauges, one deletes what is older than its retention.
import { Duration, Effect, Layer, Metric } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import { connectionCounts } from "../../sql/Migrate.ts"
import { Jobs } from "./Lifecycle.ts"

/** At least as often as scrapers usually read. */
const gaugeInterval = Duration.seconds(10)

/** Measures `gauge` until the scope closes. */
export const measureGauge = (
  gauge: string,
  measure: Effect.Effect<void>
): Effect.Effect<void, never, Jobs | Scope.Scope> =>
  Effect.flatMap(Jobs, (jobs) =>
    jobs.run({ job: "gauges", task: gauge, work: measure, wait: () => Effect.sleep(gaugeInterval) })
  )

export const databaseConnections = Metric.gauge("database_connections", {
  description: "Connections of all instances to the database, by state."
})

/** A state without connections is 0, not its last value. */
const states = ["active", "idle", "idle in transaction"]

/** Measures the connections of all instances to the database. */
export const layerConnections = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const measure = Effect.gen(function* () {
      const counts = new Map((yield* connectionCounts).map(({ state, count }) => [state, Number(count)]))
      for (const state of states) {
        yield* Metric.update(Metric.withAttributes(databaseConnections, { state }), counts.get(state) ?? 0)
      }
    })
    yield* measureGauge(databaseConnections.id, Effect.provideService(measure, SqlClient.SqlClient, sql))
  })
)

// The job `retention`, which deletes what is older than its retention. Each feature adds a task for its own tables.

/** The time between two rounds of a task. */
export const retentionInterval = Duration.minutes(1)

const deleteAll = Effect.fnUntraced(function* (task: string, batch: number, deleteBatch: Effect.Effect<number>) {
  let rows = 0
  for (;;) {
    const count = yield* deleteBatch
    rows += count
    if (count < batch) break
  }
  if (rows > 0) yield* Effect.annotateLogs(Effect.logInfo("old rows deleted"), { task, rows })
})

/**
 * Runs a task until the scope closes. `deleteBatch` deletes at most `batch` rows, few enough to lock nothing for long, and returns
 * how many it has deleted. The log says how many rows a round has deleted.
 */
export const deleteOld = (
  task: string,
  batch: number,
  deleteBatch: Effect.Effect<number>
): Effect.Effect<void, never, Jobs | Scope.Scope> =>
  Effect.flatMap(Jobs, (jobs) =>
    jobs.run({
      job: "retention",
      task,
      work: deleteAll(task, batch, deleteBatch),
      wait: () => Effect.sleep(retentionInterval)
    })
  )
