// Keeps what a given signature offers, so that a transaction with the same bytes can take it over.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // As `attempts.offer`: its network reads it.
    yield* sql`ALTER TABLE signatures_given ADD offer jsonb`
  })
)
