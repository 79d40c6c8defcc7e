// Creates the table of the balances of relayers by hour.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // The last balance that a check read in the hour that begins `at`. If an hour has no row, it has the balance of the row before.
    yield* sql`
      CREATE TABLE relayer_balances (
        relayer_id text NOT NULL
          CONSTRAINT relayer_balances_relayer_id_fkey REFERENCES relayers (id) ON DELETE CASCADE,
        at timestamptz NOT NULL,
        balance numeric(78) NOT NULL CHECK (balance >= 0),
        PRIMARY KEY (relayer_id, at)
      )`
    yield* sql`CREATE INDEX relayer_balances_at_idx ON relayer_balances (at)`
  })
)
