// The tables `relayer_checks` and `relayer_balances`: the health of each relayer, and the time of its next check.
import { Effect, Schema } from "effect"
import { ChainSnapshot } from "../../domain/chain/ChainSnapshot.ts"
import { keptBalances } from "../../domain/health/Funding.ts"
import { Health } from "../../domain/health/Health.ts"
import type { NetworkType } from "../../domain/network/Network.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { parse } from "../../domain/request/ExactJson.ts"
import { Instant } from "../../domain/request/Shown.ts"
import { client, query } from "../../sql/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import { waitingCounts } from "../relayers/StoredRelayer.ts"

const json = (column: unknown) => parse(String(column))

const Row = Rows.withoutNulls(
  Schema.Struct({
    state: Health,
    /** Absent: the relayer was never checked. */
    since: Schema.optionalKey(Instant),
    reading: Schema.optionalKey(ChainSnapshot),
    /** Absent: the balance was never read. */
    read_at: Schema.optionalKey(Instant),
    checked_at: Schema.optionalKey(Instant),
    next_check_at: Instant,
    claimed_by: Schema.optionalKey(Schema.String)
  }),
  { state: json, reading: json }
)
export type Check = (typeof Row)["Type"]

const readCheck = Rows.first(Row)
const readCount = Rows.one(Schema.Struct({ count: Schema.Int }))
const readClaims = Rows.all(Schema.Struct({ relayer_id: RelayerId }))

const encodeHealth = Schema.encodeEffect(Health)
const encodeReading = Schema.encodeEffect(ChainSnapshot)

/** The right to check a relayer until the lease ends. */
export interface Claim {
  readonly id: RelayerId
  /** Identifies the claim. */
  readonly token: string
}

export interface Claiming {
  readonly token: string
  readonly limit: number
  /** Milliseconds after which another instance may claim the check. */
  readonly lease: number
  /**
   * Milliseconds. No check is scheduled further ahead than this. A check that is further ahead counts as due, because the
   * clock of the database was set back after it was scheduled.
   */
  readonly horizon: number
  /** Network types whose relayers this program does not check. */
  readonly unserved: ReadonlyArray<NetworkType>
}

/** The result of a check. */
export interface Checked {
  readonly health: Health
  readonly reading: ChainSnapshot
  /** Whether this check read the balance in `reading`. */
  readonly isRead: boolean
  /** Milliseconds to the next check. */
  readonly delay: number
}

export const make = Effect.gen(function* () {
  const sql = yield* client
  const at = (column: string) => sql`to_json(t.${sql(column)}) #>> '{}' AS ${sql(column)}`
  const columns = sql`t.state::text AS state, ${at("since")}, t.reading::text AS reading, ${at("read_at")},
    ${at("checked_at")}, ${at("next_check_at")}, t.claimed_by`
  const ahead = (milliseconds: number) => sql`${milliseconds}::float8 * interval '1 millisecond'`

  /**
   * Claims due checks, the longest due first. Skips rows that another transaction has locked. Two queries for two ranges of
   * the index: one query with both conditions would read everything between them.
   */
  const claim = ({ token, limit, lease, horizon, unserved }: Claiming) => {
    const isServed =
      unserved.length === 0
        ? sql`TRUE`
        : sql`NOT EXISTS (SELECT FROM relayers r WHERE r.id = relayer_checks.relayer_id AND ${sql.in("r.network_type", unserved)})`
    return sql`
      WITH due AS MATERIALIZED (
        SELECT relayer_id FROM relayer_checks WHERE next_check_at <= now() AND ${isServed}
        ORDER BY next_check_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ), astray AS MATERIALIZED (
        SELECT relayer_id FROM relayer_checks WHERE next_check_at > now() + ${ahead(horizon)} AND ${isServed}
        ORDER BY next_check_at LIMIT ${limit} - (SELECT count(*) FROM due) FOR UPDATE SKIP LOCKED
      )
      UPDATE relayer_checks t SET claimed_by = ${token}, next_check_at = now() + ${ahead(lease)}
      FROM (SELECT relayer_id FROM due UNION ALL SELECT relayer_id FROM astray) found
      WHERE t.relayer_id = found.relayer_id
      RETURNING t.relayer_id`.pipe(
      Effect.flatMap(readClaims),
      Effect.map((rows) => rows.map(({ relayer_id }) => ({ id: relayer_id, token }))),
      query("HealthRepo.claim")
    )
  }

  const find = (id: RelayerId) =>
    sql`SELECT ${columns} FROM relayer_checks t WHERE t.relayer_id = ${id}`.pipe(
      Effect.flatMap(readCheck),
      query("HealthRepo.find")
    )

  /** Locks the row until the transaction ends. The caller has locked the row of the relayer before. */
  const findForUpdate = (id: RelayerId) =>
    sql`SELECT ${columns} FROM relayer_checks t WHERE t.relayer_id = ${id} FOR UPDATE`.pipe(
      Effect.flatMap(readCheck),
      query("HealthRepo.findForUpdate")
    )

  /** Saves the result and ends every claim of this relayer. */
  const save = (id: RelayerId, { health, reading, isRead, delay }: Checked) =>
    Effect.gen(function* () {
      const state = JSON.stringify(yield* encodeHealth(health))
      const read = JSON.stringify(yield* encodeReading(reading))
      const balance = isRead && reading.balance !== undefined ? String(reading.balance) : null
      // An hour gets a row only if the balance has changed.
      yield* sql`
        WITH kept AS (
          INSERT INTO relayer_balances AS b (relayer_id, at, balance)
          SELECT c.relayer_id, date_trunc('hour', clock_timestamp()), ${balance}::numeric FROM relayer_checks c
          WHERE c.relayer_id = ${id} AND ${balance}::numeric IS NOT NULL AND ${balance}::numeric IS DISTINCT FROM (
            SELECT o.balance FROM relayer_balances o WHERE o.relayer_id = ${id} ORDER BY o.at DESC LIMIT 1)
          ON CONFLICT (relayer_id, at) DO UPDATE SET balance = excluded.balance
        )
        UPDATE relayer_checks t SET state = ${state}::text::json, reading = ${read}::text::json, claimed_by = NULL,
          since = CASE WHEN t.state ->> 'status' = ${health.status}
            THEN coalesce(t.since, clock_timestamp()) ELSE clock_timestamp() END,
          read_at = CASE WHEN ${isRead}::boolean THEN clock_timestamp() ELSE t.read_at END,
          checked_at = clock_timestamp(), next_check_at = clock_timestamp() + ${ahead(delay)}
        WHERE t.relayer_id = ${id}`
    }).pipe(query("HealthRepo.save"))

  /** Ends the claim: the check is due in `delay` milliseconds. Does nothing if another claim has replaced this one. */
  const release = ({ id, token }: Claim, delay: number) =>
    sql`
      UPDATE relayer_checks SET claimed_by = NULL, next_check_at = now() + ${ahead(delay)}
      WHERE relayer_id = ${id} AND claimed_by = ${token}`.pipe(Effect.asVoid, query("HealthRepo.release"))

  /** How many open transactions of the relayer wait, with those that are queued behind them. */
  const countWaiting = (relayerNumber: number) =>
    sql`
      SELECT coalesce(max(w.count), 0)::float8 AS count
      FROM (${waitingCounts(sql, sql`SELECT ${relayerNumber}::bigint AS relayer_number`)}) w`.pipe(
      Effect.flatMap(readCount),
      Effect.map(({ count }) => count),
      query("HealthRepo.countWaiting")
    )

  return { claim, find, findForUpdate, save, release, countWaiting }
})

// The table `relayer_balances`. `HealthRepo` writes it with the result of a check.

const readBalances = Rows.all(Schema.Struct({ at: Schema.Int, balance: Schema.BigIntFromString }))

export const makeBalancesRepo = Effect.gen(function* () {
  const sql = yield* client

  /** Balances since a moment, the oldest first. The first one is the balance at that moment, if it is known. */
  const since = (id: RelayerId, moment: number) =>
    sql`
      SELECT greatest(extract(epoch FROM b.at) * 1000, ${moment}::float8)::bigint::float8 AS at, b.balance::text AS balance
      FROM relayer_balances b
      WHERE b.relayer_id = ${id} AND b.at >= coalesce((
        SELECT max(o.at) FROM relayer_balances o
        WHERE o.relayer_id = ${id} AND o.at <= to_timestamp(${moment}::float8 / 1000)), '-infinity')
      ORDER BY b.at`.pipe(Effect.flatMap(readBalances), query("HealthRepo.since"))

  /** Deletes at most `limit` expired rows, but never the newest row of a relayer. Returns the number of deleted rows. */
  const prune = (limit: number) =>
    sql`
      DELETE FROM relayer_balances WHERE (relayer_id, at) IN (
        SELECT b.relayer_id, b.at FROM relayer_balances b
        WHERE b.at < now() - ${keptBalances}::float8 * interval '1 millisecond'
          AND EXISTS (SELECT FROM relayer_balances o WHERE o.relayer_id = b.relayer_id AND o.at > b.at)
        ORDER BY b.at LIMIT ${limit}
      ) RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("HealthRepo.prune")
    )

  return { since, prune }
})
