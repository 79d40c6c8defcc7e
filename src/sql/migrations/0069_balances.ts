// Creates the table of what balances of relayers were, hour by hour.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // The last balance that a check read in the hour that begins `at`. An hour without a row had the balance of the row before it.
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
