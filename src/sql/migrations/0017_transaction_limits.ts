// What API keys may send, and which keys count towards the limits of their creators.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE api_keys ADD COLUMN transaction_limits jsonb`
  // Rows stay when a key is deleted: what it has spent still counts for its creators.
  yield* sql`
    CREATE TABLE api_key_descendants (
      ancestor text NOT NULL,
      id text NOT NULL,
      PRIMARY KEY (ancestor, id)
    )`
  yield* sql`
    INSERT INTO api_key_descendants (ancestor, id) SELECT unnest(ancestors), id FROM api_keys ON CONFLICT DO NOTHING`
})
