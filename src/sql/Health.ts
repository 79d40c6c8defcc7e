// The schema version of a database, whether it answers, and its connections.
import { Effect, Schema } from "effect"
import { latestMigration, migrationsTable } from "./migrations/index.ts"
import { client, query } from "./Query.ts"
import * as Rows from "./Rows.ts"

const readConnections = Rows.all(Schema.Struct({ state: Schema.String, count: Rows.Integer }))

const readLatest = Rows.one(Schema.Struct({ latest: Schema.NullOr(Schema.Int) }))

/** The number of the latest migration. 0 if there was no migration yet. The table of migrations has to exist. */
export const schemaVersion = Effect.gen(function* () {
  const sql = yield* client
  const { latest } = yield* readLatest(yield* sql`SELECT max(migration_id) AS latest FROM ${sql(migrationsTable)}`)
  return latest ?? 0
})

const readMark = Rows.one(Schema.Struct({ oldest: Schema.Int }))

/** The schema that an instance has to know to work on the database, which has at least the schema 31. */
export const oldestSchema = Effect.gen(function* () {
  const sql = yield* client
  return (yield* readMark(yield* sql`SELECT oldest FROM schema_mark`)).oldest
})

/** Whether this code works on the schema, which may be newer. Fails if the database does not answer. */
export const isCompatible = Effect.gen(function* () {
  return (yield* schemaVersion) >= latestMigration && (yield* oldestSchema) <= latestMigration
})

/** Counts the connections of all instances by state: `active`, `idle`, `idle in transaction`. */
export const connections = Effect.gen(function* () {
  const sql = yield* client
  const rows = yield* sql`
    SELECT coalesce(state, 'unknown') AS state, count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'effect-relayer' GROUP BY 1`
  return yield* readConnections(rows)
}).pipe(query("Health.connections"))
