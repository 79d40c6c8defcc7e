// Metrics that are read when somebody looks, not counted as things happen.
import { Context, Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import * as Health from "../../sql/Health.ts"
import { Relayers } from "../Relayers/Relayers.ts"
import * as Metrics from "./Metrics.ts"

/** Sets the gauges that only the process around us can read: memory, CPU, event loop. */
export const ProcessGauges = Context.Reference<Effect.Effect<void>>(
  "effect-relayer/server/System/Gauges/ProcessGauges",
  {
    defaultValue: () => Effect.void
  }
)

/** Counting all relayers reads all of them: several scrapers share one count. */
const freshFor = "10 seconds"

const timeout = "2 seconds"

export class Gauges extends Context.Service<Gauges, { readonly refresh: Effect.Effect<void> }>()(
  "effect-relayer/server/System/Gauges"
) {
  static readonly layer = Layer.effect(
    Gauges,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const relayers = yield* Relayers
      const process = yield* ProcessGauges

      const database = Effect.gen(function* () {
        for (const { state, count } of yield* Health.connections) {
          yield* Metric.update(Metric.withAttributes(Metrics.databaseConnections, { state }), Number(count))
        }
        for (const { network_type, state, count } of yield* relayers.count) {
          yield* Metric.update(Metric.withAttributes(Metrics.relayers, { network_type, state }), count)
        }
      }).pipe(
        Effect.provideService(SqlClient.SqlClient, sql),
        Effect.timeout(timeout),
        // A scrape tells what it can while the database is away.
        Effect.catchCause((cause) => Effect.logDebug("database gauges are not refreshed", cause))
      )

      const cached = yield* Effect.cachedWithTTL(database, freshFor)
      return Gauges.of({ refresh: Effect.andThen(process, cached) })
    })
  )
}
