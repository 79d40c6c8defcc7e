// Remembers which transactions one provider has decided about alone, after no other one had an opinion for long.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // Null: as many providers as are required. An older version does not write it.
    yield* sql`ALTER TABLE transactions ADD confirmed_by smallint CHECK (confirmed_by >= 1)`
  })
)
