// Replaces the single mark by one mark per master key that may have sealed a secret.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // `sealed` is a known text, sealed with the key whose id (4 bytes, in hex) is `key_id`. The id follows the format version.
  yield* sql`ALTER TABLE master_key DROP COLUMN id, ADD COLUMN key_id text`
  yield* sql`UPDATE master_key SET key_id = encode(substring(sealed FROM 2 FOR 4), 'hex')`
  yield* sql`
    ALTER TABLE master_key
      ADD PRIMARY KEY (key_id),
      ADD CONSTRAINT master_key_key_id_check CHECK (key_id = encode(substring(sealed FROM 2 FOR 4), 'hex'))`
})
