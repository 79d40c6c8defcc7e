// Finds the transactions of the service that restore archived entries for a call.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE INDEX transactions_restores_idx ON transactions (lane_id) WHERE origin = 'restore'`
  })
)
