// Adds what checks find out about the delegation of an account, and marks that transactions can take two nonces and make many calls.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

/**
 * An instance of an earlier version would send a transaction with `calls` as a creation, and would not know why the second nonce of a
 * delegation is used.
 */
export default Migration.make(
  "incompatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // `sequence`: of the delegation that was checked; `at`: when, in milliseconds; `changed`: what differs from what was recorded, and `since`. The
    // delegation itself is in `counters`, which the holder of the lane writes. Any instance writes this.
    yield* sql`ALTER TABLE lanes ADD COLUMN watched json`
    // The list of what needs attention asks every few seconds for what has changed.
    yield* sql`CREATE INDEX lanes_changed_idx ON lanes (id) WHERE (watched ->> 'changed') IS NOT NULL`
  })
)
