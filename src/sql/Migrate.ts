// Brings the schema of a database up to date.
import { Effect, Schema } from "effect"
import { Migrator } from "effect/sql"
import type { SqlError } from "effect/sql"
import { DatabaseError } from "./DatabaseError.ts"
import { latestMigration, migrations, migrationsTable } from "./migrations/index.ts"
import { client } from "./Query.ts"
import * as Rows from "./Rows.ts"
import { schemaVersion } from "./Health.ts"

const minimumVersion = 15

const run = Migrator.make({})

/** Turns the driver's error into a line about the database at `place`. */
export const explain = (place: string) => (error: SqlError.SqlError) => {
  const { _tag, cause } = error.reason
  return _tag === "AuthenticationError"
    ? DatabaseError.of("AuthenticationFailed", `the database at ${place} refuses the user name or the password`, error)
    : DatabaseError.system(`cannot use the database at ${place}`)(cause)
}

const readServer = Rows.one(Schema.Struct({ version: Schema.String }))

const checkServerVersion = (place: string) =>
  Effect.gen(function* () {
    const sql = yield* client
    const row = yield* readServer(yield* sql`SELECT current_setting('server_version_num') AS version`)
    const version = Math.floor(Number(row.version) / 10_000)
    if (version < minimumVersion) {
      const message = `the database at ${place} is PostgreSQL ${version}; PostgreSQL ${minimumVersion} or later is needed`
      return yield* DatabaseError.of("ServerTooOld", message)
    }
  })

const checkSchemaVersion = (place: string) =>
  Effect.gen(function* () {
    const sql = yield* client
    const [table] = yield* sql`SELECT 1 WHERE to_regclass(${migrationsTable}) IS NOT NULL`
    if (table === undefined) return
    const latest = yield* schemaVersion
    if (latest > latestMigration) {
      const message = `the database at ${place} has schema ${latest}, newer than this version knows (${latestMigration}): start a newer version`
      return yield* DatabaseError.of("SchemaTooNew", message)
    }
  })

/** Returns the names of the migrations that it applied. `place` names the database in errors. */
export const migrate = (place: string) =>
  Effect.gen(function* () {
    yield* checkServerVersion(place)
    yield* checkSchemaVersion(place)
    const applied = yield* run({ loader: Migrator.fromRecord(migrations), table: migrationsTable })
    const names = applied.map(([id, name]) => `${String(id).padStart(4, "0")}_${name}`)
    if (names.length > 0) {
      yield* Effect.annotateLogs(Effect.logInfo("database schema updated"), { schema: latestMigration })
    }
    return names
  }).pipe(
    Effect.catchTags({
      SqlError: (error) => Effect.fail(explain(place)(error)),
      MigrationError: (error) =>
        Effect.fail(DatabaseError.of("MigrationFailed", `migration failed on ${place}: ${error.message}`, error))
    })
  )
