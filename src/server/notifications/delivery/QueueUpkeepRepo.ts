// The upkeep of the table `deliveries`: what expires, what is deleted, and how much is pending.
import { Effect, Schema } from "effect"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"

/** Rows that one statement expires or deletes. */
const batch = 1000

const readCount = Rows.one(Schema.Struct({ count: Rows.Integer }))

export const make = Effect.gen(function* () {
  const sql = yield* client

  /** Gives up deliveries that were pending for too long. Returns how many. */
  const expire = sql`
    UPDATE deliveries SET state = 'failed', claim = NULL WHERE seq = ANY(ARRAY(
      SELECT d.seq FROM deliveries d JOIN notifications n ON n.seq = d.notification_seq
      WHERE d.state = 'pending' AND d.give_up_at <= clock_timestamp() AND d.next_attempt_at <= clock_timestamp()
        AND (d.failures > 0 OR n.paused OR n.failing_since IS NOT NULL)
      LIMIT ${batch} FOR UPDATE OF d SKIP LOCKED
    )) RETURNING 1`.pipe(
    Effect.map((rows) => rows.length),
    query("QueueUpkeepRepo.expire")
  )

  const pruneDeliveries = sql`
    DELETE FROM deliveries WHERE seq = ANY(ARRAY(
      SELECT seq FROM deliveries WHERE created_at < now() - interval '30 days' AND state <> 'pending'
      ORDER BY created_at LIMIT ${batch} FOR UPDATE SKIP LOCKED
    ))`

  const pruneKeys = sql`
    UPDATE notifications SET previous_signing_key_sealed = NULL, previous_signing_key_expires_at = NULL
    WHERE id IN (
      SELECT id FROM notifications WHERE previous_signing_key_expires_at <= now() FOR NO KEY UPDATE SKIP LOCKED
    )`

  /** Deletes deliveries that are older than 30 days, and previous signing keys that have expired. */
  const prune = Effect.andThen(pruneDeliveries, pruneKeys).pipe(Effect.asVoid, query("QueueUpkeepRepo.prune"))

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
      ORDER BY d.seq LIMIT ${batch} FOR UPDATE OF d SKIP LOCKED
    )) RETURNING 1`.pipe(
    Effect.map((rows) => rows.length > 0),
    query("QueueUpkeepRepo.clear")
  )

  /** Reads an index of all pending deliveries. */
  const countPending = sql`
    SELECT count(*) AS count FROM deliveries d JOIN notifications n ON n.seq = d.notification_seq
    WHERE d.state = 'pending'`.pipe(
    Effect.flatMap(readCount),
    Effect.map(({ count }) => count),
    query("QueueUpkeepRepo.countPending")
  )

  return { expire, prune, clear, countPending }
})
