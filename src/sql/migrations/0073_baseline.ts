// Creates all tables of the service: what the migrations up to 73 have made together. The columns of each table stand in the order in which
// those added them, so that a database that was made by them has the same schema.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ledger } from "./baseline/Ledger.ts"
import { records } from "./baseline/Records.ts"
import { resources } from "./baseline/Resources.ts"
import * as Migration from "./Migration.ts"

const mark = (sql: SqlClient.SqlClient) => [
  // `oldest` is the schema that an instance has to know: the number of the newest incompatible migration. Instances of versions from
  // schema 31 on work on this one.
  sql`
    CREATE TABLE schema_mark (
      id boolean PRIMARY KEY DEFAULT true,
      oldest integer NOT NULL,
      CONSTRAINT schema_mark_one_row_check CHECK (id)
    )`,
  sql`INSERT INTO schema_mark (oldest) VALUES (31)`
]

// Instances of earlier versions do not know the way from their schema to this one.
export default Migration.make(
  "incompatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const statements = [mark, resources, records, ledger].flatMap((part) => part(sql))
    yield* Effect.forEach(statements, (statement) => statement, { discard: true })
  })
)
