// Finds how the newest prebuilt transactions of an API key ended on their chain.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // Only prebuilt transactions have an identity, and they keep it when their bytes were applied.
    yield* sql`
      CREATE INDEX transactions_landed_by_key_idx ON transactions (api_key_id, final_at DESC)
        WHERE identity IS NOT NULL AND mined_attempt IS NOT NULL AND final_at IS NOT NULL`
  })
)
