// A request with an idempotency key that works outside of the database claims its key first: a row without a response.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    ALTER TABLE idempotency_keys
      ALTER COLUMN status DROP NOT NULL,
      ALTER COLUMN headers DROP NOT NULL,
      ALTER COLUMN body_sealed DROP NOT NULL,
      ADD COLUMN claim uuid,
      ADD COLUMN claimed_until timestamptz,
      ADD CONSTRAINT idempotency_keys_claim_check CHECK (
        CASE WHEN claim IS NULL
          THEN claimed_until IS NULL AND num_nulls(status, headers, body_sealed) = 0
          ELSE claimed_until IS NOT NULL AND num_nonnulls(status, headers, body_sealed) = 0
        END
      )`
})
