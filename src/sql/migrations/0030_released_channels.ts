// Lets a lane give up an account that belongs to it. The row stays, because transactions name it.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Only rows with a parent are released.
  yield* sql`
    ALTER TABLE lanes ADD released_at timestamptz,
      ADD CONSTRAINT lanes_released_check CHECK (released_at IS NULL OR parent_id IS NOT NULL)`
})
