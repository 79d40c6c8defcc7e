// Finds relayers whose last check did not find everything well, without a look at all others.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // `AttentionRepo.checks` has the same condition.
    yield* sql`
      CREATE INDEX relayer_checks_need_idx ON relayer_checks (relayer_id)
      WHERE (state ->> 'status') IN ('degraded', 'failing', 'disabled') OR (state ->> 'told_low') = 'true'`
  })
)
