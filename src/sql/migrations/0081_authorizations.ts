// Adds the accounts whose authorizations transactions carry: two open transactions of a chain never have the same one.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

/** An instance of an earlier version ignores the list in a request: it would send the call alone, to an account without code. */
export default Migration.make(
  "incompatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // A row of a transaction that is final counts for nothing: the next transaction with the account takes its place.
    yield* sql`
      CREATE TABLE transaction_authorities (
        chain text NOT NULL,
        authority text NOT NULL,
        transaction_id uuid NOT NULL
          CONSTRAINT transaction_authorities_transaction_id_fkey REFERENCES transactions (id) ON DELETE CASCADE,
        CONSTRAINT transaction_authorities_authority_key UNIQUE (chain, authority)
      )`
    yield* sql`CREATE INDEX transaction_authorities_transaction_id_idx ON transaction_authorities (transaction_id)`
    // What needs attention is asked for every few seconds.
    yield* sql`
      CREATE INDEX transactions_without_effect_idx ON transactions (final_at)
        WHERE code = 'authorization_without_effect'`
  })
)
