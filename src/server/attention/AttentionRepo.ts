// What the tables say about relayers, transactions, receivers and keys that need attention. A statement each, so that a page that asks
// every five seconds costs little: partial indexes find the rows, and there are few of them while all is well.
import { DateTime, Effect, Option, Schema } from "effect"
import { parse } from "../../domain/request/ExactJson.ts"
import { ProviderReading } from "../../domain/chain/ChainSnapshot.ts"
import { Health } from "../../domain/health/Health.ts"
import { Instant } from "../../domain/request/Instant.ts"
import { Figures } from "../../domain/transaction/Cause.ts"
import { usualCodes } from "../../domain/transaction/TransactionEvents.ts"
import type { Statement } from "effect/sql"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"

/** Rows of each kind that are read at most. */
const maxRows = 2000

/** Receivers that failed for a shorter time usually recover. */
const failingFor = "5 minutes"

const expiresWithin = "7 days"

const json = (column: unknown) => parse(String(column))

/** Open transactions of a relayer that have the same code and name the same provider. */
const Held = Rows.withoutNulls(
  Schema.Struct({
    code: Schema.String,
    relayer_id: Schema.String,
    chain: Schema.String,
    count: Schema.Int,
    since: Instant,
    oldest: Instant,
    /** The figures of the transaction that has had the code longest. Absent if this version cannot read them. */
    figures: Schema.optionalKey(Schema.Unknown)
  }),
  { figures: json }
)

const Check = Rows.withoutNulls(
  Schema.Struct({
    relayer_id: Schema.String,
    state: Health,
    since: Schema.optionalKey(Instant),
    providers: Schema.optionalKey(Schema.Array(ProviderReading))
  }),
  { state: json, providers: json }
)

const Receiver = Rows.withoutNulls(
  Schema.Struct({ id: Schema.String, since: Instant, until: Schema.optionalKey(Instant), count: Schema.Int })
)

const ExpiringKey = Schema.Struct({ id: Schema.String, until: Instant })

const readHeldRows = Rows.all(Held)
const readFigures = Schema.decodeUnknownOption(Figures)

const readHeld = (rows: ReadonlyArray<unknown>) =>
  Effect.map(readHeldRows(rows), (found) =>
    found.map(({ figures, ...row }) => ({
      ...row,
      figures: Option.getOrElse(readFigures(figures ?? {}), (): Figures => ({}))
    }))
  )
const readChecks = Rows.all(Check)
const readReceivers = Rows.all(Receiver)
const readKeys = Rows.all(ExpiringKey)

/** `undefined`: all relayers. */
type Ids = ReadonlyArray<string> | undefined

export const make = Effect.gen(function* () {
  const sql = yield* client
  const text = (value: Statement.Fragment) => sql`to_json(${value}) #>> '{}'`
  const among = (column: string, ids: Ids) => (ids === undefined ? [] : [sql`t.${sql(column)} = ANY(${ids}::text[])`])

  // Two parts, so that each one uses its partial index.
  const held = (ids: Ids) => {
    const part = (states: Statement.Fragment) => sql`
      SELECT t.code, t.relayer_id, t.lane_id, t.code_since, t.created_at, t.figures FROM transactions t
      WHERE ${sql.and([states, sql`t.code <> ALL(${usualCodes}::text[])`, ...among("relayer_id", ids)])}`
    return sql`
      SELECT h.code, h.relayer_id, l.chain, h.count::float8 AS count, ${text(sql`h.since`)} AS since,
        ${text(sql`h.oldest`)} AS oldest, h.figures
      FROM (
        SELECT o.code, o.relayer_id, min(o.lane_id) AS lane_id, count(*) AS count, min(o.code_since) AS since,
          min(o.created_at) AS oldest, (array_agg(o.figures::text ORDER BY o.code_since))[1] AS figures
        FROM (
          ${part(sql`t.state = 'pending'`)} UNION ALL ${part(sql`t.state IN ('signed', 'submitted', 'mined')`)}
        ) o GROUP BY o.code, o.relayer_id, o.figures ->> 'host' LIMIT ${maxRows}
      ) h JOIN lanes l ON l.id = h.lane_id`.pipe(Effect.flatMap(readHeld), query("AttentionRepo.held"))
  }

  const checks = (ids: Ids) =>
    sql`
      SELECT t.relayer_id, t.state::text AS state, ${text(sql`t.since`)} AS since, (t.reading -> 'providers')::text AS providers
      FROM relayer_checks t
      WHERE ${sql.and([
        sql`((t.state ->> 'status') IN ('degraded', 'failing', 'disabled') OR (t.state ->> 'told_low') = 'true')`,
        ...among("relayer_id", ids)
      ])} LIMIT ${maxRows}`.pipe(Effect.flatMap(readChecks), query("AttentionRepo.checks"))

  const receivers = sql`
    SELECT t.id, ${text(sql`t.failing_since`)} AS since, ${text(sql`d.until`)} AS until, d.count::float8 AS count
    FROM notifications t CROSS JOIN LATERAL (
      SELECT count(*) AS count, min(give_up_at) AS until FROM (
        SELECT give_up_at FROM deliveries WHERE notification_seq = t.seq AND state = 'pending' LIMIT ${maxRows}
      ) pending
    ) d
    WHERE t.failing_since < clock_timestamp() - ${failingFor}::interval AND NOT t.paused LIMIT ${maxRows}`.pipe(
    Effect.flatMap(readReceivers),
    query("AttentionRepo.receivers")
  )

  const expiringKeys = (now: DateTime.Utc) => {
    const at = DateTime.toDate(now)
    return sql`
      SELECT t.id, ${text(sql`t.expires_at`)} AS until FROM api_keys t
      WHERE t.expires_at > ${at} AND t.expires_at < ${at}::timestamptz + ${expiresWithin}::interval LIMIT ${maxRows}`.pipe(
      Effect.flatMap(readKeys),
      query("AttentionRepo.expiringKeys")
    )
  }

  return { held, checks, receivers, expiringKeys }
})

export type HeldRow = Effect.Success<ReturnType<typeof readHeld>>[number]
export type CheckRow = typeof Check.Type
export type ReceiverRow = typeof Receiver.Type
