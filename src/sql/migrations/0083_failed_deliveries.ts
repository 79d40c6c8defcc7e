// Adds when a delivery was given up, and indexes of deliveries by the time at which they ended.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

/** An instance of an earlier version leaves `failed_at` empty, so that statistics lack what it gives up. */
export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`ALTER TABLE deliveries ADD COLUMN failed_at timestamptz`
    // The last attempt of what was given up is known. What had none was given up when its time was over.
    yield* sql`
      UPDATE deliveries d
      SET failed_at = coalesce((SELECT max(a.at) FROM delivery_attempts a WHERE a.delivery_id = d.id), d.give_up_at)
      WHERE state = 'failed'`
    // Two indexes of plain columns: the planner has no statistics of an expression, and would read the whole table for an hour.
    yield* sql`CREATE INDEX deliveries_delivered_idx ON deliveries (notification_seq, delivered_at) WHERE state = 'delivered'`
    yield* sql`CREATE INDEX deliveries_failed_idx ON deliveries (notification_seq, failed_at) WHERE state = 'failed'`
  })
)
