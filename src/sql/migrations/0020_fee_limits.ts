// The limits of fees per day of API keys, in rows that stay when a key is deleted: a deleted key does not lift the limit of what
// it has sent.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Wei. The row is locked while fees are summed; a lock on the row of the key would wait for each note of its use.
  yield* sql`
    CREATE TABLE api_key_fee_limits (
      key_id text PRIMARY KEY,
      maximum numeric NOT NULL
    )`
  yield* sql`
    INSERT INTO api_key_fee_limits (key_id, maximum)
    SELECT id, (transaction_limits ->> 'max_fee_per_day')::numeric FROM api_keys
    WHERE transaction_limits ? 'max_fee_per_day'`
})
