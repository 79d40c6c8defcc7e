// Finds transactions in flight that a caller has canceled or replaced, without a look at all others.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // `ClaimsRepo.news` has the same conditions.
    yield* sql`
      CREATE INDEX transactions_commands_idx ON transactions (lane_id)
      WHERE state IN ('signed', 'submitted') AND (intent = 'cancel' OR request_version > 1)`
  })
)
