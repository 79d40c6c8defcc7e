// Brings the schema of a database up to date.
import { Effect, Schedule, Schema } from "effect"
import { SqlError } from "effect/sql"
import type { Migrator } from "effect/sql"
import { DatabaseError } from "./DatabaseError.ts"
import { isIncompatible, latestMigration, migrateTo, migrationsTable } from "./migrations/index.ts"
import { client } from "./Query.ts"
import * as Rows from "./Rows.ts"
import { oldestSchema, schemaVersion } from "./Health.ts"
import * as SessionLock from "./SessionLock.ts"

const minimumVersion = 15

/** The name of an instance among the sessions of the server. */
export const applicationName = "effect-relayer"

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

/** 0 for a database without the service's tables. */
const presentVersion = Effect.gen(function* () {
  const sql = yield* client
  const [table] = yield* sql`SELECT 1 WHERE to_regclass(${migrationsTable}) IS NOT NULL`
  return table === undefined ? 0 : yield* schemaVersion
})

const missing = (present: number, remedy: string): string =>
  `the database has ${present === 0 ? "no schema of the service" : `schema ${present}`}, and this version needs ${latestMigration}: ${remedy}`

/** Dies if the database lacks tables or columns that this version uses. */
export const demandSchema = Effect.flatMap(Effect.orDie(presentVersion), (present) =>
  present >= latestMigration
    ? Effect.void
    : Effect.die(new Error(missing(present, "run Sql.migrate once, or effect-relayer migrate")))
)

/** Why a command that opens the database itself cannot work on its schema. Undefined: it can. */
export const missingSchema = Effect.map(Effect.orDie(presentVersion), (present) =>
  present >= latestMigration ? undefined : missing(present, "run effect-relayer migrate")
)

/** A newer schema is fine as long as its migrations are compatible. */
const refuseNewer = (place: string, present: number) =>
  Effect.gen(function* () {
    if (present <= latestMigration) return
    const oldest = yield* oldestSchema
    if (oldest > latestMigration) {
      const message = `the database at ${place} has schema ${present}, newer than this version knows (${latestMigration}): start a newer version`
      return yield* DatabaseError.of("SchemaTooNew", message)
    }
    yield* Effect.annotateLogs(Effect.logInfo("the database has a newer schema, on which this version works"), {
      schema: present,
      known: latestMigration
    })
  })

const readSessions = Rows.all(Schema.Struct({ pid: Schema.Int, client: Schema.String }))

/** Sessions of instances of any version, and of host programs. */
const instances = Effect.gen(function* () {
  const sql = yield* client
  return yield* readSessions(
    yield* sql`
      SELECT a.pid, coalesce(host(a.client_addr), 'this machine') AS client FROM pg_stat_activity a
      WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND (
        a.application_name = ${applicationName}
        OR EXISTS (
          SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.objsubid = 2
            AND l.classid::bigint = ${SessionLock.instances}::bigint
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())))
      ORDER BY a.pid`
  )
})

/** The sessions of an instance that was killed are gone by then, and so are those of one that is about to end. */
const patience = { schedule: Schedule.spaced("500 millis"), times: 10 }

/**
 * Refuses to change the schema under instances that would not work on the result. They have an earlier version, because
 * an instance of this version would have changed the schema itself: so the schema is read again with the sessions.
 */
const refuseBeside = (place: string) =>
  Effect.gen(function* () {
    const present = yield* presentVersion
    if (!isIncompatible(present)) return
    const found = yield* instances
    if (found.length === 0 || !isIncompatible(yield* presentVersion)) return
    const clients = [...new Set(found.map(({ client }) => client))].join(", ")
    const message = `the database at ${place} has schema ${present}, and instances of an earlier version are connected to it (${found.length} sessions from ${clients}), which do not work on schema ${latestMigration}: stop every instance of the earlier version, then start this version`
    return yield* DatabaseError.of("OlderInstances", message)
  }).pipe(Effect.retry({ ...patience, while: ({ _tag }) => _tag === "DatabaseError" }))

/** Each deadlock ends one transaction, so another one has made progress. */
const deadlocks = 10

/** PostgreSQL ended the transaction of the migrations, because it and a transaction of an instance waited for each other. */
const isDeadlock = (error: Migrator.MigrationError | SqlError.SqlError): boolean => {
  const reason = error._tag === "MigrationError" ? error.cause : error
  return SqlError.isSqlError(reason) && reason.reason._tag === "DeadlockError"
}

/** Returns the names of the migrations that it applied. `place` names the database in errors. */
export const migrate = (place: string) =>
  Effect.gen(function* () {
    yield* checkServerVersion(place)
    yield* refuseNewer(place, yield* presentVersion)
    yield* refuseBeside(place)
    // Instances of an earlier version may write meanwhile, if the changes are compatible.
    const applied = yield* Effect.retry(migrateTo(), { while: isDeadlock, times: deadlocks })
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
