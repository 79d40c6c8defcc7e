// The table `deliveries` as a queue that all instances share. All times are those of the database: clocks of instances may differ.
import { Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { DeliveryState } from "../../../domain/notification/Delivery.ts"
import type { DeliveryOutcome } from "../../../domain/notification/Delivery.ts"
import { client, query } from "../../../sql/Transaction.ts"
import * as Rows from "../../../sql/Rows.ts"
import { Receiver, receiverColumns } from "./WebhookClient.ts"
import type { WebhookAttempt } from "./WebhookClient.ts"

// Which deliveries are due: parts of a statement that begins with `WITH RECURSIVE`.

/** Walks an index from lane to lane, so that deliveries that wait behind the first of their lane cost nothing. */
const laneHeads = (sql: SqlClient.SqlClient) => sql`
  heads AS (
    (SELECT notification_seq, lane, seq FROM deliveries WHERE state = 'pending'
      ORDER BY notification_seq, lane, seq LIMIT 1)
    UNION ALL
    SELECT next.* FROM heads CROSS JOIN LATERAL (
      SELECT notification_seq, lane, seq FROM deliveries
      WHERE state = 'pending' AND (notification_seq, lane) > (heads.notification_seq, heads.lane)
      ORDER BY notification_seq, lane, seq LIMIT 1
    ) next
  )`

/**
 * The first delivery of each lane that is due, with its place among those of its receiver. An expired delivery that was never
 * attempted is still sent once, unless its receiver is failing. `OFFSET 0` makes the planner look up the delivery of each head: after a
 * vacuum of an empty table, it expects one delivery until the next analysis, and would compare all of them with all heads.
 */
const dueDeliveries = (sql: SqlClient.SqlClient, busy: ReadonlyMap<string, number>) => sql`
  ${laneHeads(sql)}, due AS (
    SELECT d.seq, d.next_attempt_at, coalesce(busy.count, 0) +
      row_number() OVER (PARTITION BY d.notification_seq ORDER BY d.next_attempt_at, d.seq) AS place
    FROM heads CROSS JOIN LATERAL (SELECT * FROM deliveries WHERE seq = heads.seq OFFSET 0) d
    JOIN notifications n ON n.seq = d.notification_seq
    LEFT JOIN unnest(${[...busy.keys()]}::text[], ${[...busy.values()]}::int[]) busy (id, count) ON busy.id = n.id
    WHERE d.next_attempt_at <= clock_timestamp() AND NOT n.paused
      AND (d.give_up_at > clock_timestamp() OR (d.failures = 0 AND n.failing_since IS NULL))
      AND NOT EXISTS (
        SELECT 1 FROM deliveries other WHERE other.claim IS NOT NULL AND other.notification_seq = d.notification_seq
          AND other.lane = d.lane AND other.seq <> d.seq AND other.next_attempt_at > clock_timestamp()
      )
  )`

const Claimed = Schema.Struct({
  ...Receiver.fields,
  id: Schema.String,
  /** Changes with every claim: only the last one can settle the delivery. */
  claim: Schema.String,
  event: Schema.String,
  body: Schema.String,
  /** Failed attempts since the delivery was created, or since its last retry or replay. */
  failures: Schema.Int
})
export type Claimed = typeof Claimed.Type

const readClaimed = Rows.all(Claimed)
const readState = Rows.first(Schema.Struct({ state: DeliveryState }))

export interface Slots {
  /** Deliveries that this instance can still take. */
  readonly free: number
  readonly perReceiver: number
  /** Deliveries that this instance is sending, by notification. */
  readonly busy: ReadonlyMap<string, number>
}

/** When to try again, in milliseconds. */
export interface Wait {
  readonly backOff: number
  /** `Retry-After`, capped so that one more attempt fits before the delivery expires. */
  readonly asked: number | undefined
}

/** Longer than an attempt takes, including recording its result. */
const lease = "30 seconds"

const milliseconds = (sql: SqlClient.SqlClient, count: number) => sql`${count}::float8 * interval '1 millisecond'`

const nextAttempt = (sql: SqlClient.SqlClient, { backOff, asked }: Wait) => {
  const next = sql`clock_timestamp() + ${milliseconds(sql, Math.max(backOff, asked ?? 0))}`
  if (asked === undefined || asked <= backOff) return next
  return sql`least(${next}, greatest(give_up_at - interval '1 minute', clock_timestamp() + ${milliseconds(sql, backOff)}))`
}

/** The columns that an attempt changes. */
const changes = (sql: SqlClient.SqlClient, outcome: DeliveryOutcome) => {
  if (outcome === "delivered") return sql`failures = 0, delivered_at = clock_timestamp(), state = 'delivered'`
  if (outcome === "gone") return sql`failures = failures + 1, state = 'failed', failed_at = clock_timestamp()`
  const isLast = sql`once OR held.next > give_up_at`
  return sql`failures = failures + 1, state = CASE WHEN ${isLast} THEN 'failed' ELSE 'pending' END,
    failed_at = CASE WHEN ${isLast} THEN clock_timestamp() END`
}

export const make = Effect.gen(function* () {
  const sql = yield* client

  /** Claims due deliveries, the first of each lane. No other instance claims them until the lease ends. */
  const claim = ({ free, perReceiver, busy }: Slots) =>
    sql`
      WITH RECURSIVE ${dueDeliveries(sql, busy)}, chosen AS (
        SELECT seq FROM deliveries
        WHERE seq = ANY(ARRAY(
          SELECT seq FROM due WHERE place <= ${perReceiver}::int ORDER BY place, next_attempt_at LIMIT ${free}
        ))
          AND state = 'pending' AND next_attempt_at <= clock_timestamp()
        FOR UPDATE SKIP LOCKED
      )
      UPDATE deliveries d SET claim = gen_random_uuid()::text, next_attempt_at = clock_timestamp() + ${lease}::interval
      FROM chosen, notifications n
      WHERE d.seq = chosen.seq AND n.seq = d.notification_seq
      RETURNING d.id, d.claim, d.event, d.body, d.failures, ${receiverColumns(sql)}`.pipe(
      Effect.flatMap(readClaimed),
      query("QueueRepo.claim")
    )

  /** Records an attempt. Returns the state of the delivery; none if another claim has replaced this one. */
  const settle = (claimed: Claimed, { outcome, ms, status, answer }: WebhookAttempt, wait: Wait) =>
    sql`
      WITH held AS (
        SELECT seq, ${nextAttempt(sql, wait)} AS next FROM deliveries
        WHERE id = ${claimed.id} AND claim = ${claimed.claim} FOR UPDATE
      ), settled AS (
        UPDATE deliveries d
        SET claim = NULL, attempts = attempts + 1, next_attempt_at = held.next, ${changes(sql, outcome)}
        FROM held WHERE d.seq = held.seq RETURNING d.id, d.attempts, d.state
      ), logged AS (
        INSERT INTO delivery_attempts (delivery_id, attempt, at, milliseconds, status, outcome, answer)
        SELECT id, attempts, clock_timestamp() - ${milliseconds(sql, ms)}, ${ms}, ${status ?? null}::smallint,
          ${outcome}, ${answer ?? null}::text
        FROM settled
      )
      SELECT state FROM settled`.pipe(
      Effect.flatMap(readState),
      Effect.map(Option.map(({ state }) => state)),
      query("QueueRepo.settle")
    )

  /** Ends the claim: the delivery is due at once. */
  const release = ({ id, claim }: Claimed) =>
    sql`
      UPDATE deliveries SET claim = NULL, next_attempt_at = clock_timestamp()
      WHERE id = ${id} AND claim = ${claim}`.pipe(Effect.asVoid, query("QueueRepo.release"))

  return { claim, settle, release }
})

// The upkeep of the table `deliveries`: what expires, what is deleted, and how much is pending.

/** Rows that one statement expires or deletes. */
const upkeepBatch = 1000

const readCount = Rows.one(Schema.Struct({ count: Rows.Integer }))

export const makeQueueUpkeepRepo = Effect.gen(function* () {
  const sql = yield* client

  /** Gives up deliveries that were pending for too long. Returns how many. */
  const expire = sql`
    UPDATE deliveries SET state = 'failed', failed_at = clock_timestamp(), claim = NULL WHERE seq = ANY(ARRAY(
      SELECT d.seq FROM deliveries d JOIN notifications n ON n.seq = d.notification_seq
      WHERE d.state = 'pending' AND d.give_up_at <= clock_timestamp() AND d.next_attempt_at <= clock_timestamp()
        AND (d.failures > 0 OR n.paused OR n.failing_since IS NOT NULL)
      LIMIT ${upkeepBatch} FOR UPDATE OF d SKIP LOCKED
    )) RETURNING 1`.pipe(
    Effect.map((rows) => rows.length),
    query("QueueRepo.expire")
  )

  const pruneDeliveries = sql`
    DELETE FROM deliveries WHERE seq = ANY(ARRAY(
      SELECT seq FROM deliveries WHERE created_at < now() - interval '30 days' AND state <> 'pending'
      ORDER BY created_at LIMIT ${upkeepBatch} FOR UPDATE SKIP LOCKED
    ))`

  const pruneKeys = sql`
    UPDATE notifications SET previous_signing_key_sealed = NULL, previous_signing_key_expires_at = NULL
    WHERE id IN (
      SELECT id FROM notifications WHERE previous_signing_key_expires_at <= now() FOR NO KEY UPDATE SKIP LOCKED
    )`

  /** Deletes deliveries that are older than 30 days, and previous signing keys that have expired. */
  const prune = Effect.andThen(pruneDeliveries, pruneKeys).pipe(Effect.asVoid, query("QueueRepo.prune"))

  /**
   * Deletes some deliveries of notifications that were deleted. Returns whether there are more. Walks an index from
   * notification to notification. `AS MATERIALIZED` keeps the planner from joining all deliveries.
   */
  const clear = sql`
    WITH RECURSIVE owners AS (
      (SELECT notification_seq AS seq FROM deliveries ORDER BY notification_seq LIMIT 1)
      UNION ALL
      SELECT next.seq FROM owners CROSS JOIN LATERAL (
        SELECT notification_seq AS seq FROM deliveries WHERE notification_seq > owners.seq
        ORDER BY notification_seq LIMIT 1
      ) next
    ), deleted AS MATERIALIZED (
      SELECT seq FROM owners WHERE NOT EXISTS (SELECT FROM notifications n WHERE n.seq = owners.seq) LIMIT 1
    )
    DELETE FROM deliveries WHERE seq = ANY(ARRAY(
      SELECT d.seq FROM deleted JOIN deliveries d ON d.notification_seq = deleted.seq
      ORDER BY d.seq LIMIT ${upkeepBatch} FOR UPDATE OF d SKIP LOCKED
    )) RETURNING 1`.pipe(
    Effect.map((rows) => rows.length > 0),
    query("QueueRepo.clear")
  )

  /** Reads an index of all pending deliveries. */
  const countPending = sql`
    SELECT count(*) AS count FROM deliveries d JOIN notifications n ON n.seq = d.notification_seq
    WHERE d.state = 'pending'`.pipe(
    Effect.flatMap(readCount),
    Effect.map(({ count }) => count),
    query("QueueRepo.countPending")
  )

  return { expire, prune, clear, countPending }
})
