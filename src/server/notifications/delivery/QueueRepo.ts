// The table `deliveries` as a queue, with what of `notifications` says where to, and whether. Moments are the database's:
// clocks of instances may differ.
import { Context, Effect, Layer } from "effect"
import type { DeliveryState } from "../../../domain/notification/Delivery.ts"
import type { NotificationId } from "../../../domain/notification/Notification.ts"
import { client, query } from "../../../sql/Query.ts"
import type { Attempt, Receiver } from "./Sender.ts"

export interface Claimed extends Receiver {
  readonly id: string
  /** Whoever has it may say what became of the delivery. */
  readonly claim: string
  readonly event: string
  readonly body: string
  /** Since it was to be sent. */
  readonly failures: number
}

export interface Slots {
  /** Deliveries at once, of all. */
  readonly free: number
  readonly perReceiver: number
  /** Deliveries under way, by notification. */
  readonly busy: ReadonlyMap<string, number>
}

/** When to try again, in milliseconds. */
export interface Wait {
  readonly backOff: number
  /** What the receiver asks for: as long as it may, but not so long that there is no further attempt. */
  readonly asked: number | undefined
}

/** More than an attempt takes, with the writing of its result. */
const lease = "30 seconds"

/** Expired or old rows that go at once. */
const batch = 1000

export class QueueRepo extends Context.Service<
  QueueRepo,
  {
    /** Due deliveries, the first of their lanes, for nobody else until their lease ends. */
    claim(slots: Slots): Effect.Effect<ReadonlyArray<Claimed>>
    /** What came of it; undefined where the claim is lost. Logs the attempt. */
    settle(claimed: Claimed, attempt: Attempt, wait: Wait): Effect.Effect<DeliveryState | undefined>
    /** For whoever comes next, now. */
    release(claimed: Claimed): Effect.Effect<void>
    /** Takes note of an answer. */
    recovered(id: NotificationId): Effect.Effect<void>
    /** Takes note of a failure; whether there has been nothing else for three days. Holds the notification. */
    failing(id: NotificationId): Effect.Effect<boolean>
    /** Gives up what has been pending for too long. Returns how many. */
    readonly expire: Effect.Effect<number>
    /** Takes away deliveries of more than 30 days ago, and keys that are good no more. */
    readonly prune: Effect.Effect<void>
    readonly countPending: Effect.Effect<number>
    /** Undefined: there is no such notification. */
    receiver(id: NotificationId): Effect.Effect<Receiver | undefined>
  }
>()("effect-relayer/server/notifications/delivery/QueueRepo") {
  static readonly layer = Layer.effect(
    QueueRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const receiverColumns = sql`n.id AS notification_id, n.url, n.signing_key_sealed AS key,
        CASE WHEN n.previous_signing_key_expires_at > clock_timestamp() THEN n.previous_signing_key_sealed END AS previous_key`

      /** Walks the index from lane to lane: what waits in a lane behind its first costs nothing. */
      const heads = sql`
        heads AS (
          (SELECT notification_id, lane, seq FROM deliveries WHERE state = 'pending'
            ORDER BY notification_id, lane, seq LIMIT 1)
          UNION ALL
          SELECT next.* FROM heads CROSS JOIN LATERAL (
            SELECT notification_id, lane, seq FROM deliveries
            WHERE state = 'pending' AND (notification_id, lane) > (heads.notification_id, heads.lane)
            ORDER BY notification_id, lane, seq LIMIT 1
          ) next
        )`

      /** One that has waited for too long is sent all the same where it has not been tried, and nothing speaks against it. */
      const claim = ({ free, perReceiver, busy }: Slots) =>
        sql<Claimed>`
          WITH RECURSIVE ${heads}, due AS (
            SELECT d.seq, d.next_attempt_at, coalesce(busy.count, 0) +
              row_number() OVER (PARTITION BY d.notification_id ORDER BY d.next_attempt_at, d.seq) AS place
            FROM heads JOIN deliveries d ON d.seq = heads.seq JOIN notifications n ON n.id = d.notification_id
            LEFT JOIN unnest(${[...busy.keys()]}::text[], ${[...busy.values()]}::int[]) busy (id, count) ON busy.id = n.id
            WHERE d.next_attempt_at <= clock_timestamp() AND NOT n.paused
              AND (d.give_up_at > clock_timestamp() OR (d.failures = 0 AND n.failing_since IS NULL))
              AND NOT EXISTS (
                SELECT 1 FROM deliveries other WHERE other.claim IS NOT NULL AND other.notification_id = d.notification_id
                  AND other.lane = d.lane AND other.seq <> d.seq AND other.next_attempt_at > clock_timestamp()
              )
          ), chosen AS (
            SELECT seq FROM deliveries
            WHERE seq IN (SELECT seq FROM due WHERE place <= ${perReceiver}::int ORDER BY place, next_attempt_at LIMIT ${free})
              AND state = 'pending' AND next_attempt_at <= clock_timestamp()
            FOR UPDATE SKIP LOCKED
          )
          UPDATE deliveries d SET claim = gen_random_uuid()::text, next_attempt_at = clock_timestamp() + ${lease}::interval
          FROM chosen, notifications n
          WHERE d.seq = chosen.seq AND n.id = d.notification_id
          RETURNING d.id, d.claim, d.event, d.body, d.failures, ${receiverColumns}`.pipe(query("QueueRepo.claim"))

      const milliseconds = (count: number) => sql`${count}::float8 * interval '1 millisecond'`

      const nextAttempt = ({ backOff, asked }: Wait) => {
        const next = sql`clock_timestamp() + ${milliseconds(Math.max(backOff, asked ?? 0))}`
        return asked === undefined || asked <= backOff
          ? next
          : sql`least(${next}, greatest(give_up_at - interval '1 minute', clock_timestamp() + ${milliseconds(backOff)}))`
      }

      const settle = (claimed: Claimed, { outcome, ms, status, answer }: Attempt, wait: Wait) =>
        sql<{ readonly state: DeliveryState }>`
          WITH held AS (
            SELECT seq, ${nextAttempt(wait)} AS next FROM deliveries
            WHERE id = ${claimed.id} AND claim = ${claimed.claim} FOR UPDATE
          ), settled AS (
            UPDATE deliveries d SET claim = NULL, attempts = attempts + 1, next_attempt_at = held.next,
              failures = ${outcome === "delivered" ? sql`0` : sql`failures + 1`},
              delivered_at = ${outcome === "delivered" ? sql`clock_timestamp()` : sql`delivered_at`},
              state = ${
                outcome === "delivered"
                  ? sql`'delivered'`
                  : outcome === "gone"
                    ? sql`'failed'`
                    : sql`CASE WHEN once OR held.next > give_up_at THEN 'failed' ELSE 'pending' END`
              }
            FROM held WHERE d.seq = held.seq RETURNING d.id, d.attempts, d.state
          ), logged AS (
            INSERT INTO delivery_attempts (delivery_id, attempt, at, milliseconds, status, outcome, answer)
            SELECT id, attempts, clock_timestamp() - ${milliseconds(ms)}, ${ms}, ${status ?? null}::smallint, ${outcome},
              ${answer ?? null}::text
            FROM settled
          )
          SELECT state FROM settled`.pipe(
          Effect.map(([row]) => row?.state),
          query("QueueRepo.settle")
        )

      const release = ({ id, claim }: Claimed) =>
        sql`
          UPDATE deliveries SET claim = NULL, next_attempt_at = clock_timestamp()
          WHERE id = ${id} AND claim = ${claim}`.pipe(Effect.asVoid, query("QueueRepo.release"))

      const recovered = (id: NotificationId) =>
        sql`UPDATE notifications SET failing_since = NULL WHERE id = ${id} AND failing_since IS NOT NULL`.pipe(
          Effect.asVoid,
          query("QueueRepo.recovered")
        )

      const failing = (id: NotificationId) =>
        sql<{ readonly long: boolean }>`
          UPDATE notifications SET failing_since = coalesce(failing_since, clock_timestamp()) WHERE id = ${id}
          RETURNING failing_since <= clock_timestamp() - interval '3 days' AS long`.pipe(
          Effect.map(([row]) => row?.long ?? false),
          query("QueueRepo.failing")
        )

      const expire = sql`
        UPDATE deliveries SET state = 'failed', claim = NULL WHERE seq IN (
          SELECT d.seq FROM deliveries d JOIN notifications n ON n.id = d.notification_id
          WHERE d.state = 'pending' AND d.give_up_at <= clock_timestamp() AND d.next_attempt_at <= clock_timestamp()
            AND (d.failures > 0 OR n.paused OR n.failing_since IS NOT NULL)
          LIMIT ${batch} FOR UPDATE OF d SKIP LOCKED
        ) RETURNING 1`.pipe(
        Effect.map((rows) => rows.length),
        query("QueueRepo.expire")
      )

      const prune = Effect.gen(function* () {
        yield* sql`
          DELETE FROM deliveries WHERE seq IN (
            SELECT seq FROM deliveries WHERE created_at < now() - interval '30 days' AND state <> 'pending'
            ORDER BY created_at LIMIT ${batch} FOR UPDATE SKIP LOCKED
          )`
        yield* sql`
          UPDATE notifications SET previous_signing_key_sealed = NULL, previous_signing_key_expires_at = NULL
          WHERE id IN (
            SELECT id FROM notifications WHERE previous_signing_key_expires_at <= now() FOR NO KEY UPDATE SKIP LOCKED
          )`
      }).pipe(query("QueueRepo.prune"))

      const countPending = sql<{ readonly count: bigint }>`
        SELECT count(*) AS count FROM deliveries WHERE state = 'pending'`.pipe(
        Effect.map(([row]) => Number(row?.count)),
        query("QueueRepo.countPending")
      )

      const receiver = (id: NotificationId) =>
        sql<Receiver>`SELECT ${receiverColumns} FROM notifications n WHERE n.id = ${id}`.pipe(
          Effect.map(([row]) => row),
          query("QueueRepo.receiver")
        )

      return QueueRepo.of({
        claim,
        settle,
        release,
        recovered,
        failing,
        expire,
        prune,
        countPending,
        receiver
      })
    })
  )
}
