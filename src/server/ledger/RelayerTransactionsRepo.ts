// What the table `transactions` says about relayers and API keys.
import { Effect, Option, Schema } from "effect"
import type { Statement } from "effect/sql"
import { present } from "../../networks/core/Presentation.ts"
import { TransactionId } from "../../networks/core/TransactionValues.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import type { LaneKey } from "../../networks/core/Rules.ts"
import { client, query } from "../../sql/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import type { Account, StoredTransaction } from "./LedgerEntries.ts"

const readIds = Rows.all(Schema.Struct({ id: TransactionId }))
const readOpen = Rows.all(Schema.Struct({ id: TransactionId, api_key_id: Schema.NullOr(Schema.String) }))
const readMoments = Rows.all(Schema.Struct({ at: Schema.Int }))
const readChannels = Rows.one(Schema.Struct({ count: Schema.Int }))
const readCounts = Rows.all(Schema.Struct({ relayer: Schema.Int, count: Schema.Int }))
const readCount = Rows.one(Schema.Struct({ count: Schema.Int }))
const readShortage = Rows.one(Schema.Struct({ missing: Schema.String }))
const readDays = Rows.all(Schema.Struct({ day: Schema.Int, count: Schema.Int }))
const readNamed = Rows.all(
  Schema.Struct({
    id: TransactionId,
    external_id: Schema.NullOr(Schema.String),
    identity: Schema.NullOr(Schema.String),
    body_hash: Schema.String
  })
)

/** Transactions that are not final. */
const Backlog = Schema.Struct({
  state: Schema.Literals(["pending", "in_flight"]),
  count: Schema.Int,
  /** When the oldest one was accepted, or could begin. Absent: there is none. */
  since: Schema.optionalKey(Schema.Int)
})
export type Backlog = typeof Backlog.Type

const readCodes = Rows.all(Schema.Struct({ code: Schema.String, count: Schema.Int }))

const readBacklog = Rows.all(Rows.withoutNulls(Backlog))

/** Days before a moment, and how many transactions are counted at most. */
export interface PastDays {
  readonly now: Moment
  readonly days: number
  readonly limit: number
}

/** A request that is not final, and the API key that sent it. */
export type OpenRequest = Pick<StoredTransaction, "id" | "apiKeyId">

/** Identifies a body, so that its repeats are recognized. `bodyHash`: of the first version. */
export interface Named {
  readonly bodyHash: string
  readonly externalId?: string
  readonly identity?: string
}

export const make = Effect.gen(function* () {
  const sql = yield* client
  const isOpen = sql`t.state IN ('pending', 'signed', 'submitted', 'mined')`

  /** The transaction with this sequence in the present generation of the lane: of the own account first, then of channels. */
  // The expression matches the index `transactions_nonce_key`. By `lane_id` alone, the query would read all its transactions.
  const bySequence = (relayerNumber: number, sequence: bigint) =>
    sql`
      WITH lane AS MATERIALIZED (
        SELECT l.id, l.generation FROM lanes l WHERE l.id = (
          SELECT lane_id FROM transactions WHERE relayer_number = ${relayerNumber}::bigint ORDER BY -number LIMIT 1)
      )
      SELECT t.id FROM transactions t
      WHERE coalesce(t.channel_id, t.lane_id) = ANY(ARRAY(
          SELECT id FROM lane UNION ALL SELECT c.id FROM lanes c WHERE c.parent_id = (SELECT id FROM lane)))
        AND t.generation = (SELECT generation FROM lane) AND t.nonce = ${String(sequence)}::bigint
        AND t.relayer_number = ${relayerNumber}::bigint
      ORDER BY t.channel_id NULLS FIRST LIMIT 1`.pipe(
      Effect.flatMap(readIds),
      Effect.map(([row]) => Option.fromUndefinedOr(row?.id)),
      query("RelayerTransactionsRepo.bySequence")
    )

  /** The open transaction of a lane that excludes others by this text. */
  const excluding = ({ chain, address }: LaneKey, exclusive: string) =>
    sql`
      SELECT t.id FROM transactions t
      WHERE t.lane_id = (SELECT l.id FROM lanes l WHERE l.chain = ${chain} AND l.address = ${address})
        AND t.exclusive = ${exclusive} AND t.final_at IS NULL`.pipe(
      Effect.flatMap(readIds),
      Effect.map((rows) => rows.map(({ id }) => id)),
      query("RelayerTransactionsRepo.excluding")
    )

  /** Those with one of the `external_id`s, and those with one of the identities in the present generation of the lane. */
  const named = (account: Account, asked: ReadonlyArray<Partial<Pick<Named, "externalId" | "identity">>>) => {
    const external = asked.flatMap(({ externalId }) => externalId ?? [])
    const identities = asked.flatMap(({ identity }) => identity ?? [])
    if (external.length === 0 && identities.length === 0) return Effect.succeed([])
    const columns = sql`t.id, t.external_id, t.identity, t.body_hash`
    const identical = sql`
      UNION ALL SELECT ${columns} FROM lanes l JOIN transactions t ON t.generation = l.generation AND t.identity = ANY(${identities}::text[])
      WHERE l.chain = ${account.chain} AND l.address = ${account.address}
        AND t.relayer_number = ${account.relayerNumber}::bigint AND t.body_hash IS NOT NULL`
    return sql`
      SELECT ${columns} FROM transactions t
      WHERE t.relayer_number = ${account.relayerNumber}::bigint AND t.external_id = ANY(${external}::text[])
      ${identities.length === 0 ? sql`` : identical}`.pipe(
      Effect.flatMap(readNamed),
      Effect.map((rows) =>
        rows.map(({ id, external_id, identity, body_hash }): Named & { readonly id: TransactionId } => ({
          id,
          bodyHash: body_hash,
          ...present("externalId", external_id ?? undefined),
          ...present("identity", identity ?? undefined)
        }))
      ),
      query("RelayerTransactionsRepo.named")
    )
  }

  /**
   * The request with this body that requires this sequence, in the present generation of the lane: if it waits, has the sequence, or
   * was executed with it.
   */
  // Two parts, so that each one uses its index.
  const requiring = ({ address, chain, relayerNumber }: Account, sequence: bigint, bodyHash: string) => {
    const isAsked = sql`l.chain = ${chain} AND l.address = ${address} AND t.generation = l.generation
      AND t.relayer_number = ${relayerNumber}::bigint AND t.required_nonce = ${String(sequence)}::bigint
      AND t.body_hash = ${bodyHash} AND t.origin = 'request'`
    return sql`
      SELECT t.id FROM lanes l JOIN transactions t ON t.lane_id = l.id WHERE ${isAsked} AND t.state = 'pending'
      UNION ALL
      SELECT t.id FROM lanes l JOIN transactions t
        ON coalesce(t.channel_id, t.lane_id) = l.id AND t.generation = l.generation AND t.nonce = t.required_nonce
      WHERE ${isAsked} AND t.nonce = ${String(sequence)}::bigint AND t.state NOT IN ('canceled', 'expired')
        AND (t.final_at IS NULL OR t.mined_attempt IS NOT NULL)
      LIMIT 1`.pipe(
      Effect.flatMap(readIds),
      Effect.map((rows) => rows.map(({ id }) => id)),
      query("RelayerTransactionsRepo.requiring")
    )
  }

  /** Requests that have no receipt, oldest first. */
  const cancelable = (relayerNumber: number) =>
    sql`
      SELECT t.id, t.api_key_id FROM transactions t WHERE t.relayer_number = ${relayerNumber}::bigint
        AND t.state IN ('pending', 'signed', 'submitted') AND t.origin = 'request' ORDER BY t.number`.pipe(
      Effect.flatMap(readOpen),
      Effect.map((rows) =>
        rows.map(({ id, api_key_id }): OpenRequest => (api_key_id === null ? { id } : { id, apiKeyId: api_key_id }))
      ),
      query("RelayerTransactionsRepo.cancelable")
    )

  /** Open transactions by relayer, no-ops for gaps included. Relayers without any are left out. */
  const countOpen = (relayerNumbers: ReadonlyArray<number>) =>
    sql`
      SELECT t.relayer_number::float8 AS relayer, count(*)::float8 AS count FROM transactions t
      WHERE t.relayer_number = ANY(${relayerNumbers.map(String)}::bigint[]) AND ${isOpen} GROUP BY 1`.pipe(
      Effect.flatMap(readCounts),
      Effect.map((rows) => new Map(rows.map(({ relayer, count }) => [relayer, count]))),
      query("RelayerTransactionsRepo.countOpen")
    )

  /** Channels of the relayer's account: on the chain, or on all chains. */
  const countChannels = (address: string, chain?: string) =>
    sql`
      SELECT count(*)::float8 AS count FROM lanes c JOIN lanes p ON p.id = c.parent_id
      WHERE p.address = ${address} AND c.released_at IS NULL AND ${chain === undefined ? sql`true` : sql`p.chain = ${chain}`}`.pipe(
      Effect.flatMap(readChannels),
      Effect.map(({ count }) => count),
      query("RelayerTransactionsRepo.countChannels")
    )

  /** What the transaction lacks that waits for the largest sum: its figures say what it needs, and what must stay. */
  const largestShortage = (relayerNumber: number) =>
    sql`
      SELECT greatest(max(
        (t.figures ->> 'required')::numeric + coalesce((t.figures ->> 'minimum')::numeric, 0) - (t.figures ->> 'available')::numeric
      ), 0)::text AS missing
      FROM transactions t
      WHERE t.relayer_number = ${relayerNumber}::bigint AND ${isOpen} AND t.code = 'insufficient_funds'`.pipe(
      Effect.flatMap(readShortage),
      Effect.map(({ missing }) => BigInt(missing)),
      query("RelayerTransactionsRepo.largestShortage")
    )

  /** Open transactions of all relayers, counted to `limit`. */
  // Two parts, so that each one uses its partial index.
  const countAllOpen = (limit: number) =>
    sql`
      SELECT count(*)::float8 AS count FROM (
        SELECT FROM transactions t WHERE t.state = 'pending'
        UNION ALL SELECT FROM transactions t WHERE t.state IN ('signed', 'submitted', 'mined')
        LIMIT ${limit}
      ) counted`.pipe(
      Effect.flatMap(readCount),
      Effect.map(({ count }) => count),
      query("RelayerTransactionsRepo.countAllOpen")
    )

  const waiting = (state: string, condition: Statement.Fragment) => sql`
    SELECT ${state} AS state, count(*)::float8 AS count,
      (extract(epoch FROM min(greatest(t.created_at, t.not_before))) * 1000)::bigint::float8 AS since
    FROM transactions t WHERE ${condition}`

  /** Open transactions of all relayers, by state. Reads every one of them. */
  // Two parts, so that each one uses its partial index.
  const backlog = sql`
    ${waiting("pending", sql`t.state = 'pending'`)}
    UNION ALL ${waiting("in_flight", sql`t.state IN ('signed', 'submitted', 'mined')`)}`.pipe(
    Effect.flatMap(readBacklog),
    query("RelayerTransactionsRepo.backlog")
  )

  /** How many open transactions of all relayers have each of these codes. A code without any is left out. */
  const countCodes = (codes: ReadonlyArray<string>) =>
    sql`
      SELECT t.code, count(*)::float8 AS count FROM transactions t
      WHERE ${isOpen} AND t.code = ANY(${codes}::text[]) GROUP BY t.code`.pipe(
      Effect.flatMap(readCodes),
      Effect.map((rows) => new Map(rows.map(({ code, count }) => [code, count]))),
      query("RelayerTransactionsRepo.countCodes")
    )

  // By number, because an index has this order: the confirmation of the newest confirmed one is the last but for seconds.
  const lastConfirmed = (relayerNumber: number) =>
    sql`
      SELECT (extract(epoch FROM t.final_at) * 1000)::bigint::float8 AS at FROM transactions t
      WHERE t.relayer_number = ${relayerNumber}::bigint AND t.state = 'confirmed' AND t.origin = 'request'
      ORDER BY -t.number LIMIT 1`.pipe(
      Effect.flatMap(readMoments),
      Effect.map(([row]) => Option.fromUndefinedOr(row?.at)),
      query("RelayerTransactionsRepo.lastConfirmed")
    )

  /**
   * Final requests by the day of their acceptance: the last 24 hours first, then the 24 hours before them, and so on. Counts
   * the newest `limit` of them.
   */
  const countFinalByDay = (relayerNumber: number, { now, days, limit }: PastDays) =>
    sql`
      SELECT floor(extract(epoch FROM to_timestamp(${now}::float8 / 1000) - created_at) / 86400)::float8 AS day,
        count(*)::float8 AS count
      FROM (
        SELECT t.created_at FROM transactions t
        WHERE t.relayer_number = ${relayerNumber}::bigint AND t.origin = 'request' AND t.final_at IS NOT NULL
          AND t.created_at > to_timestamp(${now}::float8 / 1000) - ${days}::integer * interval '24 hours'
        ORDER BY -t.number LIMIT ${limit}
      ) newest GROUP BY 1`.pipe(
      Effect.flatMap(readDays),
      Effect.map((rows) => {
        const counts = Array.from({ length: days }, () => 0)
        for (const { day, count } of rows) {
          const index = Math.min(Math.max(day, 0), days - 1)
          counts[index] = (counts[index] ?? 0) + count
        }
        return counts
      }),
      query("RelayerTransactionsRepo.countFinalByDay")
    )

  return {
    bySequence,
    excluding,
    named,
    requiring,
    cancelable,
    countOpen,
    countChannels,
    countAllOpen,
    backlog,
    countCodes,
    lastConfirmed,
    largestShortage,
    countFinalByDay
  }
})

// How the newest prebuilt transactions of API keys ended on their chain.

const KeyLandings = Schema.Struct({
  key_id: Schema.String,
  failed: Schema.Int,
  /** When the newest one that failed became final. Absent: none failed. */
  failed_at: Schema.optionalKey(Schema.Int)
})
export type KeyLandings = typeof KeyLandings.Type

const readLandings = Rows.all(Rows.withoutNulls(KeyLandings))

export const makeKeyLandings = Effect.gen(function* () {
  const sql = yield* client

  /** Counts, for each key, the failures among its newest `last` transactions that landed on networks of the type. */
  const landingsOf = (keyIds: ReadonlyArray<string>, networkType: string, last: number) =>
    sql`
      SELECT k.id AS key_id, count(*) FILTER (WHERE newest.state = 'failed')::float8 AS failed,
        (extract(epoch FROM max(newest.final_at) FILTER (WHERE newest.state = 'failed')) * 1000)::bigint::float8 AS failed_at
      FROM unnest(${keyIds}::text[]) k (id), LATERAL (
        SELECT t.state, t.final_at FROM transactions t JOIN lanes l ON l.id = t.lane_id
        WHERE t.api_key_id = k.id AND t.identity IS NOT NULL AND t.mined_attempt IS NOT NULL AND t.final_at IS NOT NULL
          AND split_part(l.chain, ':', 1) = ${networkType}
        ORDER BY t.final_at DESC LIMIT ${last}
      ) newest GROUP BY k.id`.pipe(Effect.flatMap(readLandings), query("KeyLandingsRepo.landingsOf"))

  return { landingsOf }
})
