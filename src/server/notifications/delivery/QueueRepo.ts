// The table `deliveries` as a queue that all instances share. All times are those of the database: clocks of instances may
// differ.
import { Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { DeliveryState } from "../../../domain/notification/Delivery.ts"
import type { DeliveryOutcome } from "../../../domain/notification/Delivery.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import * as DueDeliveries from "./DueDeliveries.ts"
import { Receiver, columns } from "./ReceiversRepo.ts"
import type { WebhookAttempt } from "./WebhookClient.ts"

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
  if (outcome === "gone") return sql`failures = failures + 1, state = 'failed'`
  return sql`failures = failures + 1, state = CASE WHEN once OR held.next > give_up_at THEN 'failed' ELSE 'pending' END`
}

export const make = Effect.gen(function* () {
  const sql = yield* client

  /** Claims due deliveries, the first of each lane. No other instance claims them until the lease ends. */
  const claim = ({ free, perReceiver, busy }: Slots) =>
    sql`
      WITH RECURSIVE ${DueDeliveries.find(sql, busy)}, chosen AS (
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
      RETURNING d.id, d.claim, d.event, d.body, d.failures, ${columns(sql)}`.pipe(
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
