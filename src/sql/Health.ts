// Whether the database answers, and its connections.
import { Effect, Schema } from "effect"
import { latestMigration } from "./migrations/index.ts"
import { client, query } from "./Query.ts"
import * as Rows from "./Rows.ts"
import * as SchemaVersion from "./SchemaVersion.ts"

const readConnections = Rows.all(Schema.Struct({ state: Schema.String, count: Rows.Integer }))

/** Whether the schema is the one that this code works on. Fails if the database does not answer. */
export const isCurrent = Effect.map(SchemaVersion.current, (version) => version === latestMigration)

/** Counts the connections of all instances by state: `active`, `idle`, `idle in transaction`. */
export const connections = Effect.gen(function* () {
  const sql = yield* client
  const rows = yield* sql`
    SELECT coalesce(state, 'unknown') AS state, count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'effect-relayer' GROUP BY 1`
  return yield* readConnections(rows)
}).pipe(query("Health.connections"))
