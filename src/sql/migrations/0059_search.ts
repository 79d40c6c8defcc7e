// Finds transactions by `external_id` over all relayers, and relayers by address.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // The unique index begins with the relayer. A hash index is a fifth of its size, and equality is all that is asked.
    yield* sql`
      CREATE INDEX transactions_external_id_idx ON transactions USING hash (external_id) WHERE external_id IS NOT NULL`
    yield* sql`CREATE INDEX relayers_address_idx ON relayers USING hash (address)`
  })
)
