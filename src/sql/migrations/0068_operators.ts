// Creates what operators look up: the running instances, and the changes of a request.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // An instance writes its row every ten seconds and deletes it when it stops. `id` is the holder of its lanes.
    yield* sql`
      CREATE TABLE instances (
        id uuid PRIMARY KEY,
        version text NOT NULL,
        jobs json NOT NULL,
        started_at timestamptz NOT NULL DEFAULT now(),
        last_seen_at timestamptz NOT NULL DEFAULT now()
      )`

    // A record gets its position after its insertion, so the index does not slow the insertion down.
    yield* sql`
      CREATE INDEX audit_request_id_idx ON audit USING hash (request_id) WHERE position IS NOT NULL AND request_id IS NOT NULL`
  })
)
