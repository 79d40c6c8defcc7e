// Measures the connections of all instances to the database.
import { Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import * as Health from "../../sql/Health.ts"
import * as GaugeJob from "./GaugeJob.ts"
import { databaseConnections } from "./LifecycleMetrics.ts"

/** A state without connections is 0, not its last value. */
const states = ["active", "idle", "idle in transaction"]

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const measure = Effect.gen(function* () {
      const counts = new Map((yield* Health.connections).map(({ state, count }) => [state, Number(count)]))
      for (const state of states) {
        yield* Metric.update(Metric.withAttributes(databaseConnections, { state }), counts.get(state) ?? 0)
      }
    })
    yield* GaugeJob.run(databaseConnections.id, Effect.provideService(measure, SqlClient.SqlClient, sql))
  })
)
