// Counts the changes of API keys, for entity tags and `If-Match`.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE api_keys ADD COLUMN version integer NOT NULL DEFAULT 1`
})
