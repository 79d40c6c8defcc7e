// Creates the table of the console's sessions.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // `id` is a part of the hash of the cookie. `binding` is a hash of the cookie and of the key's value.
    yield* sql`
    CREATE TABLE console_sessions (
      id text PRIMARY KEY,
      proof_hash bytea NOT NULL,
      binding bytea NOT NULL,
      key_id text NOT NULL,
      read_only boolean NOT NULL,
      created_at timestamptz NOT NULL,
      last_used_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      address text,
      browser text
    )`
    yield* sql`CREATE INDEX console_sessions_key_idx ON console_sessions (key_id, created_at)`
    yield* sql`CREATE INDEX console_sessions_expires_idx ON console_sessions (expires_at)`
  })
)
