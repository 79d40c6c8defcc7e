// Limits of fees per day are kept per network type: an amount in wei limits nothing in lamports or stroops. All earlier limits
// are in wei.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE api_key_fee_limits ADD COLUMN network_type text NOT NULL DEFAULT 'evm'`
  yield* sql`ALTER TABLE api_key_fee_limits ALTER COLUMN network_type DROP DEFAULT`
  yield* sql`
    ALTER TABLE api_key_fee_limits DROP CONSTRAINT api_key_fee_limits_pkey,
      ADD CONSTRAINT api_key_fee_limits_pkey PRIMARY KEY (key_id, network_type)`
})
