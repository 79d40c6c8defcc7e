// Creates the table of claims of names.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // `holder` and `key_id` together are who holds the name. A row counts until `ends_at`: the end of the lease or, if it is final, of the
    // time for which it is kept.
    yield* sql`
      CREATE TABLE claims (
        name text PRIMARY KEY,
        holder text NOT NULL,
        key_id text NOT NULL,
        is_final boolean NOT NULL DEFAULT false,
        claimed_at timestamptz NOT NULL,
        ends_at timestamptz NOT NULL
      )`
    yield* sql`CREATE INDEX claims_ends_at_idx ON claims (ends_at)`
  })
)
