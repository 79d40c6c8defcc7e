// Measures a series of metrics for each relayer, if the operator asked for them.
import { Effect, Layer, Metric, Schema } from "effect"
import { NetworkType } from "../../domain/network/Network.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"
import { measureGauge } from "../lifecycle/SharedJobs.ts"
import { perRelayer } from "./HealthMetrics.ts"

/** The first relayers by id. A series costs memory here and in every scraper. */
const maxRelayers = 5000

const Row = Schema.Struct({
  relayer_id: RelayerId,
  network_type: NetworkType,
  network: Schema.String,
  enabled: Schema.Boolean,
  paused: Schema.Boolean,
  balance: Schema.NullOr(Schema.String),
  min_balance: Schema.NullOr(Schema.String)
})
type Row = typeof Row.Type

const readRows = Rows.all(Row)

const valuesOf = ({ enabled, paused, balance, min_balance }: Row) => ({
  relayer_enabled: Number(enabled),
  relayer_paused: Number(paused),
  relayer_balance: balance === null ? undefined : Number(balance),
  relayer_min_balance: min_balance === null ? undefined : Number(min_balance)
})

const names = ["relayer_enabled", "relayer_paused", "relayer_balance", "relayer_min_balance"] as const

const seriesOf = (row: Row) => {
  const { relayer_id, network_type, network } = row
  const values = valuesOf(row)
  return names.flatMap((name) => {
    const value = values[name]
    return value === undefined
      ? []
      : [
          {
            key: `${name} ${relayer_id}`,
            metric: Metric.withAttributes(perRelayer[name], { relayer_id, network_type, network }),
            value
          }
        ]
  })
}

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* client
    const read = sql`
      SELECT t.id AS relayer_id, t.network_type, t.network, NOT t.system_disabled AS enabled, t.paused,
        c.reading ->> 'balance' AS balance, t.policies ->> 'min_balance' AS min_balance
      FROM relayers t LEFT JOIN relayer_checks c ON c.relayer_id = t.id
      ORDER BY t.id LIMIT ${maxRelayers}`.pipe(Effect.flatMap(readRows), query("RelayerSeries.read"))

    let known = new Map<string, ReturnType<typeof seriesOf>[number]["metric"]>()
    const measure = Effect.gen(function* () {
      const series = (yield* read).flatMap(seriesOf)
      for (const { metric, value } of series) yield* Metric.update(metric, value)
      const current = new Map(series.map(({ key, metric }) => [key, metric]))
      for (const [key, metric] of known) if (!current.has(key)) yield* Metric.remove(metric)
      known = current
    })
    yield* measureGauge("relayer_gauges", measure)
  })
)
