// Final and open transactions over time: counts of the table `transactions`, and the table `transaction_sums`.
import { Effect, Schema } from "effect"
import type { Statement } from "effect/sql"
import type { Series } from "../../domain/request/Page.ts"
import { longestCounted, sumStep } from "../../networks/core/TransactionRequests.ts"
import { usualCodes } from "../../networks/core/Transition.ts"
import { Instant } from "../../domain/request/Shown.ts"
import { client, query } from "../../sql/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"

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

const readFinals = Rows.all(FinalStep)
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

// The table `transaction_sums`: final transactions by quarter of an hour. All instances write it, and statistics of days read it.

/** Milliseconds for which sums are kept: a day more than the longest series. */
const kept = 8 * 86_400_000

/** Milliseconds after the end of a quarter until it is summed. Instances whose clock is late by less than this are counted. */
const patience = 5 * 60_000

/** Quarters that one statement sums. */
const batch = 8

/** The number of the sum of all relayers. Relayers have higher numbers. */
const ofAll = 0

/** Buckets per doubling of the time to a confirmation. The middle of a bucket differs from its times by 9 % at most. */
const bucketsPerDoubling = 4

export const makeSums = Effect.gen(function* () {
  const sql = yield* client
  const milliseconds = (value: number) => sql`${value}::float8 * interval '1 millisecond'`
  const moment = (value: number) => sql`to_timestamp(${value}::float8 / 1000)`
  const beginning = (at: Statement.Fragment, step: number) =>
    sql`(floor(extract(epoch FROM ${at}) * 1000 / ${step}::float8) * ${step}::float8)`
  const quarterOf = (at: Statement.Fragment) => sql`to_timestamp(${beginning(at, sumStep)} / 1000)`

  /** Sums of `relayer_number`, `at` and the columns of `transaction_sums` over transactions that became final between two moments. */
  const sums = (from: Statement.Fragment, to: Statement.Fragment, more: Statement.Fragment) => {
    const count = (state: string) =>
      sql`coalesce(sum(b.n) FILTER (WHERE b.state = ${state}), 0)::integer AS ${sql(state)}`
    return sql`
      SELECT b.relayer_number, b.at, ${sql.csv(["confirmed", "failed", "canceled", "expired"].map(count))},
        coalesce(array_agg(b.bucket ORDER BY b.bucket) FILTER (WHERE b.state = 'confirmed'), '{}') AS buckets,
        coalesce(array_agg(b.n ORDER BY b.bucket) FILTER (WHERE b.state = 'confirmed'), '{}') AS counts
      FROM (
        SELECT coalesce(t.relayer_number, ${ofAll}::bigint) AS relayer_number, t.at, t.state, t.bucket, count(*)::integer AS n
        FROM (
          SELECT t.relayer_number, ${quarterOf(sql`t.final_at`)} AS at, t.state, CASE WHEN t.state = 'confirmed' THEN
            ceil(log(2, greatest(1, extract(epoch FROM t.final_at - t.created_at) * 1000)::numeric) * ${bucketsPerDoubling}::integer)
            END::smallint AS bucket
          FROM transactions t
          WHERE t.final_at >= ${from} AND t.final_at < ${to} AND t.origin = 'request' ${more}
        ) t GROUP BY GROUPING SETS ((t.relayer_number, t.at, t.state, t.bucket), (t.at, t.state, t.bucket))
      ) b GROUP BY b.relayer_number, b.at`
  }

  /**
   * Sums the next quarters that ended, in their order, and returns how many. The first round begins with the oldest transaction that
   * became final while sums are kept. Instances that sum the same quarter write it once.
   */
  const sumNext = sql`
    WITH bounds AS MATERIALIZED (
      SELECT greatest(
        coalesce(
          (SELECT max(s.at) + ${milliseconds(sumStep)} FROM transaction_sums s WHERE s.relayer_number = ${ofAll}),
          (SELECT ${quarterOf(sql`min(t.final_at)`)} FROM transactions t WHERE t.final_at >= now() - ${milliseconds(kept)}),
          ${quarterOf(sql`now()`)}
        ), ${quarterOf(sql`now() - ${milliseconds(kept)}`)}) AS since, ${quarterOf(sql`now() - ${milliseconds(patience)}`)} AS ended
    ), range AS MATERIALIZED (
      SELECT since, least(ended, since + ${milliseconds(batch * sumStep)}) AS until FROM bounds
    ), found AS MATERIALIZED (
      ${sums(sql`(SELECT since FROM range)`, sql`(SELECT until FROM range)`, sql``)}
    ), quarters AS MATERIALIZED (
      SELECT at FROM range, generate_series(since, until - ${milliseconds(sumStep)}, ${milliseconds(sumStep)}) at
    ), written AS (
      INSERT INTO transaction_sums (relayer_number, at, confirmed, failed, canceled, expired, buckets, counts)
      SELECT relayer_number, at, confirmed, failed, canceled, expired, buckets, counts FROM found
      UNION ALL
      SELECT ${ofAll}::bigint, q.at, 0, 0, 0, 0, '{}', '{}' FROM quarters q
      WHERE NOT EXISTS (SELECT FROM found f WHERE f.at = q.at)
      ON CONFLICT (relayer_number, at) DO NOTHING
    )
    SELECT 1 FROM quarters`.pipe(
    Effect.map((rows) => rows.length),
    query("SumsRepo.sumNext")
  )

  /** Sums all quarters that ended. */
  const sumAll: Effect.Effect<void> = Effect.flatMap(sumNext, (count) => (count < batch ? Effect.void : sumAll))

  /** Deletes at most `limit` expired sums. Returns how many. */
  const prune = (limit: number) =>
    sql`
      DELETE FROM transaction_sums WHERE (relayer_number, at) IN (
        SELECT s.relayer_number, s.at FROM transaction_sums s WHERE s.at < now() - ${milliseconds(kept)} ORDER BY s.at LIMIT ${limit}
      ) RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("SumsRepo.prune")
    )

  /**
   * As `StatisticsRepo.finalSteps`, in steps of whole quarters: from sums, and from transactions since the last sum, or of the last six
   * hours if nothing was summed in them. Percentiles are the middles of buckets.
   */
  const summedSteps = ({ since, step, steps }: Series, numbers: RelayerNumbers) => {
    const text = numbers?.map(String) ?? [String(ofAll)]
    const own = numbers === undefined ? sql`` : sql`AND t.relayer_number = ANY(${text}::bigint[])`
    const percentile = (share: number) => sql`(min(r.bucket) FILTER (WHERE r.upto >= ${share}::float8 * r.total))`
    const middle = (bucket: Statement.Fragment) =>
      sql`round(power(2, (CASE WHEN ${bucket} = 0 THEN 0 ELSE ${bucket} - 0.5 END) / ${bucketsPerDoubling}::float8))::float8`
    return sql`
      WITH newest AS MATERIALIZED (
        SELECT greatest(${moment(since)}, least(now(), ${moment(since + step * steps)}) - ${milliseconds(longestCounted)}, (
          SELECT max(s.at) + ${milliseconds(sumStep)} FROM transaction_sums s WHERE s.relayer_number = ${ofAll})) AS at
      ), quarters AS MATERIALIZED (
        SELECT s.* FROM transaction_sums s
        WHERE s.relayer_number = ANY(${text}::bigint[]) AND s.at >= ${moment(since)} AND s.at < (SELECT at FROM newest)
        UNION ALL
        SELECT n.* FROM (${sums(sql`(SELECT at FROM newest)`, sql`'infinity'`, own)}) n
        WHERE n.relayer_number = ANY(${text}::bigint[])
      ), stepped AS MATERIALIZED (
        SELECT q.*, ${beginning(sql`q.at`, step)} AS step FROM quarters q
        WHERE q.confirmed + q.failed + q.canceled + q.expired > 0
      ), ranked AS (
        SELECT q.step, b.bucket, sum(sum(b.n)) OVER (PARTITION BY q.step) AS total,
          sum(sum(b.n)) OVER (PARTITION BY q.step ORDER BY b.bucket) AS upto
        FROM stepped q, unnest(q.buckets, q.counts) b (bucket, n) GROUP BY q.step, b.bucket
      ), percentiles AS (
        SELECT r.step, ${percentile(0.5)} AS p50, ${percentile(0.95)} AS p95 FROM ranked r GROUP BY r.step
      )
      SELECT c.step::float8 AS at, c.confirmed, c.failed, c.canceled, c.expired,
        ${middle(sql`p.p50`)} AS p50_ms, ${middle(sql`p.p95`)} AS p95_ms
      FROM (
        SELECT q.step,
          ${sql.csv(["confirmed", "failed", "canceled", "expired"].map((state) => sql`sum(q.${sql(state)})::float8 AS ${sql(state)}`))}
        FROM stepped q GROUP BY q.step
      ) c LEFT JOIN percentiles p ON p.step = c.step`.pipe(Effect.flatMap(readFinals), query("SumsRepo.summedSteps"))
  }

  return { sumAll, prune, summedSteps }
})
