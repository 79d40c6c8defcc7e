// Finds attempts by the hash of their inner envelope. That envelope is public after it was sent.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`
      CREATE INDEX attempts_inner_hash_idx ON attempts ((offer ->> 'innerHash')) WHERE (offer ->> 'innerHash') IS NOT NULL`
  })
)
