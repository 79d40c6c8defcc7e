// Creates the mark of the schema: the oldest version of the schema whose instances may work on this database.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

// Earlier versions do not know the mark, so that they could not stop.
export default Migration.make(
  "incompatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // `oldest` is the number of the newest incompatible migration: the schema that an instance has to know.
    yield* sql`
      CREATE TABLE schema_mark (
        id boolean PRIMARY KEY DEFAULT true,
        oldest integer NOT NULL,
        CONSTRAINT schema_mark_one_row_check CHECK (id)
      )`
    yield* sql`INSERT INTO schema_mark (oldest) VALUES (31)`
  })
)
