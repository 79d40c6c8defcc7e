// Authenticates the columns of a row that direct how secrets and money are used.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // An HMAC-SHA-256 as base64url. The first start after this migration computes those of existing rows; without one, a row is refused.
  for (const table of ["signers", "relayers", "networks"]) yield* sql`ALTER TABLE ${sql(table)} ADD COLUMN mac text`
})
