// Counts the changes of notifications and networks, for entity tags and `If-Match`.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE notifications ADD COLUMN version integer NOT NULL DEFAULT 1`
  yield* sql`ALTER TABLE networks ADD COLUMN version integer NOT NULL DEFAULT 1`
})
