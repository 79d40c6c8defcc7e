// Signers whose key stays in a key service: their curve, their pinned public key, and why they are disabled.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    ALTER TABLE signers
      ADD COLUMN curve text,
      ADD COLUMN public_key text CONSTRAINT signers_public_key_key UNIQUE,
      ADD COLUMN disabled_reason jsonb,
      ADD CONSTRAINT signers_curve_check CHECK ((curve IS NULL) = (public_key IS NULL))`
})
