// Counts of the table `transactions` for an overview.
import { Effect, Schema } from "effect"
import type { Statement } from "effect/sql"
import { usualCodes } from "../../../domain/transaction/TransactionEvents.ts"
import type { Series } from "../../../domain/request/Page.ts"
import { Instant } from "../../../domain/request/Text.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"

const FinalStep = Rows.withoutNulls(
  Schema.Struct({
    /** Milliseconds. */
    at: Schema.Int,
    confirmed: Schema.Int,
    failed: Schema.Int,
    canceled: Schema.Int,
    expired: Schema.Int,
    p50_ms: Schema.optionalKey(Schema.Int),
    p95_ms: Schema.optionalKey(Schema.Int)
  })
)
export type FinalStep = (typeof FinalStep)["Type"]

const OpenSummary = Rows.withoutNulls(
  Schema.Struct({
    pending: Schema.Int,
    in_flight: Schema.Int,
    held: Schema.Int,
    oldest_at: Schema.optionalKey(Instant)
  })
)
export type OpenSummary = (typeof OpenSummary)["Type"]

export const readFinals = Rows.all(FinalStep)
const readOpen = Rows.one(OpenSummary)

/** Absent: transactions of all relayers. */
export type RelayerNumbers = ReadonlyArray<number> | undefined

export const make = Effect.gen(function* () {
  const sql = yield* client

  const conditions = (numbers: RelayerNumbers) => [
    sql`t.origin = 'request'`,
    ...(numbers === undefined ? [] : [sql`t.relayer_number = ANY(${numbers.map(String)}::bigint[])`])
  ]

  /** Steps in which no transaction became final are left out. */
  const finalSteps = ({ since, step }: Series, numbers: RelayerNumbers) => {
    const count = (state: string) => sql`(count(*) FILTER (WHERE f.state = ${state}))::float8 AS ${sql(state)}`
    const percentile = (share: number) =>
      sql`round(percentile_disc(${share}) WITHIN GROUP (ORDER BY f.ms) FILTER (WHERE f.state = 'confirmed'))::float8`
    return sql`
      SELECT (floor(extract(epoch FROM f.final_at) * 1000 / ${step}::float8) * ${step}::float8)::float8 AS at,
        ${sql.csv(["confirmed", "failed", "canceled", "expired"].map(count))},
        ${percentile(0.5)} AS p50_ms, ${percentile(0.95)} AS p95_ms
      FROM (
        SELECT t.final_at, t.state, greatest(0, extract(epoch FROM t.final_at - t.created_at) * 1000) AS ms
        FROM transactions t
        WHERE t.final_at >= to_timestamp(${since}::float8 / 1000) AND ${sql.and(conditions(numbers))}
      ) f GROUP BY 1`.pipe(Effect.flatMap(readFinals), query("StatisticsRepo.finalSteps"))
  }

  /** Reads every open transaction. The query has two parts, so that each uses its partial index. */
  const open = (numbers: RelayerNumbers) => {
    const part = (states: Statement.Fragment) => sql`
      SELECT t.state, t.code, t.created_at FROM transactions t WHERE ${sql.and([states, ...conditions(numbers)])}`
    return sql`
      SELECT (count(*) FILTER (WHERE o.state = 'pending'))::float8 AS pending,
        (count(*) FILTER (WHERE o.state <> 'pending'))::float8 AS in_flight,
        (count(*) FILTER (WHERE o.code <> ALL(${usualCodes}::text[])))::float8 AS held,
        to_json(min(o.created_at)) #>> '{}' AS oldest_at
      FROM (
        ${part(sql`t.state = 'pending'`)} UNION ALL ${part(sql`t.state IN ('signed', 'submitted', 'mined')`)}
      ) o`.pipe(Effect.flatMap(readOpen), query("StatisticsRepo.open"))
  }

  return { finalSteps, openSummary: open }
})
