// Which relayer an event about a transaction belongs to: an API key that is limited to some relayers reads such events by it.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Null in events about other resources: those of relayers are found by `resource_id`.
  yield* sql`ALTER TABLE events ADD COLUMN relayer_id text`
  yield* sql`UPDATE events SET relayer_id = data->>'relayer_id' WHERE type LIKE 'transaction.%'`
  yield* sql`CREATE INDEX events_relayer_idx ON events (relayer_id, xid, id) WHERE relayer_id IS NOT NULL`
})
