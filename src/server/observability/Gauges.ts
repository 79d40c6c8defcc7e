// Metrics that are read when somebody looks, not counted as things happen.
import { Context, Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { NetworkType } from "../../domain/network/Network.ts"
import * as Health from "../../sql/Health.ts"
import { Relayers } from "../relayers/Relayers.ts"
import * as Metrics from "./Metrics.ts"
import { ProcessGauges } from "./ProcessGauges.ts"
import { Workers } from "../lifecycle/Jobs.ts"

/** Groups that have become empty are 0, not what they last were. */
const connectionStates = ["active", "idle", "idle in transaction"]
const relayerGroups = NetworkType.literals.flatMap((network_type) =>
  (["active", "paused", "disabled"] as const).map((state) => ({ network_type, state }))
)

/** Counting all relayers reads all of them: several scrapers share one count. */
const freshFor = "10 seconds"

const timeout = "2 seconds"

export class Gauges extends Context.Service<Gauges, { readonly refresh: Effect.Effect<void> }>()(
  "effect-relayer/server/observability/Gauges"
) {
  static readonly layer = Layer.effect(
    Gauges,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const relayers = yield* Relayers
      const process = yield* ProcessGauges
      const { statuses } = yield* Workers

      const database = Effect.gen(function* () {
        const connections = new Map((yield* Health.connections).map(({ state, count }) => [state, Number(count)]))
        for (const state of connectionStates) {
          yield* Metric.update(
            Metric.withAttributes(Metrics.databaseConnections, { state }),
            connections.get(state) ?? 0
          )
        }
        const counts = yield* relayers.count
        for (const { network_type, state } of relayerGroups) {
          const group = counts.find((other) => other.network_type === network_type && other.state === state)
          yield* Metric.update(Metric.withAttributes(Metrics.relayers, { network_type, state }), group?.count ?? 0)
        }
      }).pipe(
        Effect.provideService(SqlClient.SqlClient, sql),
        Effect.timeout(timeout),
        // A scrape tells what it can while the database is away.
        Effect.catchCause((cause) => Effect.logDebug("cannot refresh the gauges of the database", cause))
      )

      const workers = Effect.gen(function* () {
        for (const [worker, status] of Object.entries(yield* statuses)) {
          if (status === "off") continue
          yield* Metric.update(Metric.withAttributes(Metrics.workerHealthy, { worker }), status === "healthy" ? 1 : 0)
        }
      })

      const cached = yield* Effect.cachedWithTTL(database, freshFor)
      return Gauges.of({ refresh: Effect.all([process, workers, cached], { discard: true }) })
    })
  ).pipe(Layer.provide(Workers.layer))
}
