// Creates the table of calls that were built for users, who pay for them in a token.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // `hash` is that of the envelope without its sequence, which the service chooses when it signs. No foreign key: a row ends after
    // minutes, also that of a relayer that was deleted.
    yield* sql`
      CREATE TABLE sponsored_builds (
        hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
        relayer_number bigint NOT NULL,
        expires_at timestamptz NOT NULL,
        facts jsonb NOT NULL
      )`
    yield* sql`CREATE INDEX sponsored_builds_expires_at_idx ON sponsored_builds (expires_at)`
  })
)
