// Finds attempts by a small index of their hashes. The index that it replaces had the whole hash and the id of the transaction: each
// insertion changed another one of its many pages, which the write-ahead log then has as a whole after a checkpoint.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE attempts DROP CONSTRAINT attempts_hash_key`
  yield* sql`CREATE INDEX attempts_hash_idx ON attempts USING hash (hash)`
})
