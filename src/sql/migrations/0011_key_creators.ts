// Who created an API key, and from which keys it descends.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // `created_by` is the id of the caller; it is null for keys that are older than this column. `ancestors` are the API keys
  // from the first one down to the creator, so that the descendants of a revoked key are still found.
  yield* sql`
    ALTER TABLE api_keys
      ADD COLUMN created_by text,
      ADD COLUMN ancestors text[] NOT NULL DEFAULT '{}'`
  yield* sql`CREATE INDEX api_keys_ancestors_idx ON api_keys USING gin (ancestors)`
  yield* sql`CREATE INDEX api_keys_created_by_idx ON api_keys (created_by)`
})
