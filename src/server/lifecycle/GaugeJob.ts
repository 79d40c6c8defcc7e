// Measures gauges that need the database, in the background: a scrape does not wait for the database.
import { Duration, Effect, Layer, Metric } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as Health from "../../sql/Health.ts"
import { Jobs } from "./Jobs.ts"

/** At least as often as scrapers usually read. */
const interval = Duration.seconds(10)

/** Measures `gauge` until the scope closes. */
export const run = (gauge: string, measure: Effect.Effect<void>): Effect.Effect<void, never, Jobs | Scope.Scope> =>
  Effect.flatMap(Jobs, (jobs) =>
    jobs.run({ job: "gauges", task: gauge, work: measure, wait: () => Effect.sleep(interval) })
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
      const counts = new Map((yield* Health.connections).map(({ state, count }) => [state, Number(count)]))
      for (const state of states) {
        yield* Metric.update(Metric.withAttributes(databaseConnections, { state }), counts.get(state) ?? 0)
      }
    })
    yield* run(databaseConnections.id, Effect.provideService(measure, SqlClient.SqlClient, sql))
  })
)
