// Deletes old events from the table `events`, the oldest first, and remembers the position of the last deleted one.
import { Duration, Effect, Schema } from "effect"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"

const readPosition = Rows.first(Schema.Struct({ xid: Schema.BigIntFromString, id: Rows.Integer }))
const readCount = Rows.one(Schema.Struct({ count: Rows.Integer }))

export const make = Effect.gen(function* () {
  const sql = yield* client

  /**
   * Deletes at most `limit` events that are older than `age`. Returns how many. `at` is not quite in the order of positions:
   * only events before the first one that is young enough are deleted, so that the events that remain have no gap.
   */
  const prune = (age: Duration.Duration, limit: number) =>
    sql`
      WITH first AS (
        SELECT xid, id, bool_and(at < now() - ${Duration.toSeconds(age)}::float8 * interval '1 second')
          OVER (ORDER BY xid, id) AS is_old
        FROM (
          SELECT xid, id, at FROM events WHERE xid < pg_snapshot_xmin(pg_current_snapshot())
          ORDER BY xid, id LIMIT ${limit}
        ) oldest
      ), deleted AS (
        DELETE FROM events WHERE id IN (SELECT id FROM first WHERE is_old) RETURNING xid, id
      ), marked AS (
        INSERT INTO events_pruned (xid, id) SELECT xid, id FROM deleted ORDER BY xid DESC, id DESC LIMIT 1
        ON CONFLICT (singleton) DO UPDATE SET xid = excluded.xid, id = excluded.id
        WHERE (events_pruned.xid, events_pruned.id) < (excluded.xid, excluded.id)
      )
      SELECT count(*) AS count FROM deleted`.pipe(
      Effect.flatMap(readCount),
      Effect.map(({ count }) => count),
      query("EventRetentionRepo.prune")
    )

  /** The position of the last event that was deleted; none if all events are still there. */
  const pruned = sql`SELECT xid::text AS xid, id FROM events_pruned`.pipe(
    Effect.flatMap(readPosition),
    query("EventRetentionRepo.pruned")
  )

  return { prune, pruned }
})
