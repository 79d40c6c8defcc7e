// Remembers how often a transaction has given up its nonce to those behind it and what that cost, and what an operator lets a
// no-op pay.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // Null: never, and no price was given. An older version writes neither.
    yield* sql`
      ALTER TABLE transactions
        ADD yields smallint CHECK (yields >= 0),
        ADD paid_before numeric CHECK (paid_before >= 0),
        ADD clear_price numeric CHECK (clear_price >= 0)`
  })
)
