// Whether the database answers, and who is connected.
import { Effect } from "effect"
import { latestMigration, migrationsTable } from "./migrations/index.ts"
import { client, query } from "./Query.ts"

/** The database answers, and its schema is the one that this code works on. */
export const isCurrent = Effect.gen(function* () {
  const sql = yield* client
  const [row] = yield* sql<{ latest: number | null }>`SELECT max(migration_id) AS latest FROM ${sql(migrationsTable)}`
  return row?.latest === latestMigration
})

/** Connections of this service, of all instances, by state: `active`, `idle`, `idle in transaction`. */
export const connections = Effect.gen(function* () {
  const sql = yield* client
  return yield* sql<{ readonly state: string; readonly count: bigint }>`
    SELECT coalesce(state, 'unknown') AS state, count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'effect-relayer' GROUP BY 1`
}).pipe(query("Health.connections"))
