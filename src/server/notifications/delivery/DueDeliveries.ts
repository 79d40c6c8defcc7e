// Which deliveries are due: parts of a statement that begins with `WITH RECURSIVE`.
import type { SqlClient } from "effect/sql"

/** Walks an index from lane to lane, so that deliveries that wait behind the first of their lane cost nothing. */
const heads = (sql: SqlClient.SqlClient) => sql`
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
export const find = (sql: SqlClient.SqlClient, busy: ReadonlyMap<string, number>) => sql`
  ${heads(sql)}, due AS (
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
