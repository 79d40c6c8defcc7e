// The schema version of a database: the number of its latest migration.
import { Effect, Schema } from "effect"
import { migrationsTable } from "./migrations/index.ts"
import { client } from "./Query.ts"
import * as Rows from "./Rows.ts"

const readLatest = Rows.one(Schema.Struct({ latest: Schema.NullOr(Schema.Int) }))

/** 0 if there was no migration yet. The table of migrations has to exist. */
export const current = Effect.gen(function* () {
  const sql = yield* client
  const { latest } = yield* readLatest(yield* sql`SELECT max(migration_id) AS latest FROM ${sql(migrationsTable)}`)
  return latest ?? 0
})
