// Finds unlinked audit records by `hash`, so that they can be counted even if `position` is damaged.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DROP INDEX audit_unlinked_idx`
  yield* sql`CREATE INDEX audit_unlinked_idx ON audit (id) WHERE hash IS NULL`
})
