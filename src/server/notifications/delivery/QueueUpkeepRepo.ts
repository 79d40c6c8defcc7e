// The upkeep of the table `deliveries`: what expires, what is deleted, and how much is pending.
import { Context, Effect, Layer, Schema } from "effect"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"

/** Rows that one statement expires or deletes. */
const batch = 1000

const readCount = Rows.one(Schema.Struct({ count: Rows.Integer }))

export class QueueUpkeepRepo extends Context.Service<
  QueueUpkeepRepo,
  {
    /** Gives up deliveries that were pending for too long. Returns how many. */
    readonly expire: Effect.Effect<number>
    /** Deletes deliveries that are older than 30 days, and previous signing keys that have expired. */
    readonly prune: Effect.Effect<void>
    /** Reads an index of all pending deliveries. */
    readonly countPending: Effect.Effect<number>
  }
>()("effect-relayer/server/notifications/delivery/QueueUpkeepRepo") {
  static readonly layer = Layer.effect(
    QueueUpkeepRepo,
    Effect.gen(function* () {
      const sql = yield* client

      const expire = sql`
        UPDATE deliveries SET state = 'failed', claim = NULL WHERE seq IN (
          SELECT d.seq FROM deliveries d JOIN notifications n ON n.id = d.notification_id
          WHERE d.state = 'pending' AND d.give_up_at <= clock_timestamp() AND d.next_attempt_at <= clock_timestamp()
            AND (d.failures > 0 OR n.paused OR n.failing_since IS NOT NULL)
          LIMIT ${batch} FOR UPDATE OF d SKIP LOCKED
        ) RETURNING 1`.pipe(
        Effect.map((rows) => rows.length),
        query("QueueUpkeepRepo.expire")
      )

      const pruneDeliveries = sql`
        DELETE FROM deliveries WHERE seq IN (
          SELECT seq FROM deliveries WHERE created_at < now() - interval '30 days' AND state <> 'pending'
          ORDER BY created_at LIMIT ${batch} FOR UPDATE SKIP LOCKED
        )`

      const pruneKeys = sql`
        UPDATE notifications SET previous_signing_key_sealed = NULL, previous_signing_key_expires_at = NULL
        WHERE id IN (
          SELECT id FROM notifications WHERE previous_signing_key_expires_at <= now() FOR NO KEY UPDATE SKIP LOCKED
        )`

      const prune = Effect.andThen(pruneDeliveries, pruneKeys).pipe(Effect.asVoid, query("QueueUpkeepRepo.prune"))

      const countPending = sql`SELECT count(*) AS count FROM deliveries WHERE state = 'pending'`.pipe(
        Effect.flatMap(readCount),
        Effect.map(({ count }) => count),
        query("QueueUpkeepRepo.countPending")
      )

      return QueueUpkeepRepo.of({ expire, prune, countPending })
    })
  )
}
