// Keeps what a given signature takes from the balance besides its fee, and the sequence that it uses.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // Signatures that were given before have neither: their networks order nothing by sequences.
    yield* sql`
      ALTER TABLE signatures_given ADD outflow numeric NOT NULL DEFAULT 0 CHECK (outflow >= 0),
        ADD sequence numeric CHECK (sequence >= 0)`
  })
)
