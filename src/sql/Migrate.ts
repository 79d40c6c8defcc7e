// Brings the schema of a database up to date, and tells its version.
import { Effect, Schedule, Schema } from "effect"
import { SqlError } from "effect/sql"
import type { Migrator } from "effect/sql"
import { DatabaseError } from "./Connection.ts"
import { client, query } from "./Transaction.ts"
import * as Rows from "./Rows.ts"
import * as Session from "./Session.ts"
import * as Former from "./migrations/Former.ts"
import {
  isIncompatible,
  latestMigration,
  latestOf,
  migrateTo,
  migrations,
  migrationsTable
} from "./migrations/index.ts"
import type { Migrations } from "./migrations/index.ts"

// The schema version of a database, whether it answers, and its connections.

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
export const isCompatibleSchema = Effect.gen(function* () {
  return (yield* schemaVersion) >= latestMigration && (yield* oldestSchema) <= latestMigration
})

/** Counts the connections of all instances by state: `active`, `idle`, `idle in transaction`. */
export const connectionCounts = Effect.gen(function* () {
  const sql = yield* client
  const rows = yield* sql`
    SELECT coalesce(state, 'unknown') AS state, count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'effect-relayer' GROUP BY 1`
  return yield* readConnections(rows)
}).pipe(query("Health.connections"))

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
const presentVersion = Effect.flatMap(Former.isListed, (isListed) => (isListed ? schemaVersion : Effect.succeed(0)))

const missing = (present: number, remedy: string): string =>
  present > 0 && present < Former.baseline
    ? `the database ${Former.isTooOld(present)}: ${Former.remedy}`
    : `the database has ${present === 0 ? "no schema of the service" : `schema ${present}`}, and this version needs ${latestMigration}: ${remedy}`

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
const refuseNewer = (place: string, present: number, latest: number) =>
  Effect.gen(function* () {
    if (present <= latest) return
    const oldest = yield* oldestSchema
    if (oldest > latest) {
      const message = `the database at ${place} has schema ${present}, newer than this version knows (${latest}): start a newer version`
      return yield* DatabaseError.of("SchemaTooNew", message)
    }
    yield* Effect.annotateLogs(Effect.logInfo("the database has a newer schema, on which this version works"), {
      schema: present,
      known: latest
    })
  })

/** Refuses schemas from before the baseline, and lists of migrations that no version has made. */
const refuseOlder = (place: string) =>
  Effect.gen(function* () {
    if (!(yield* Former.isListed)) return
    const { refusal } = yield* Former.standing
    if (refusal !== undefined) return yield* DatabaseError.of("SchemaTooOld", `the database at ${place} ${refusal}`)
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
            AND l.classid::bigint = ${Session.instanceLocks}::bigint
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
const refuseBeside = (place: string, known: Migrations) =>
  Effect.gen(function* () {
    const present = yield* presentVersion
    if (!isIncompatible(present, known)) return
    const found = yield* instances
    if (found.length === 0 || !isIncompatible(yield* presentVersion, known)) return
    const clients = [...new Set(found.map(({ client }) => client))].join(", ")
    const message = `the database at ${place} has schema ${present}, and instances of an earlier version are connected to it (${found.length} sessions from ${clients}), which do not work on schema ${latestOf(known)}: stop every instance of the earlier version, then start this version`
    return yield* DatabaseError.of("OlderInstances", message)
  }).pipe(Effect.retry({ ...patience, while: ({ _tag }) => _tag === "DatabaseError" }))

/** Each deadlock ends one transaction, so another one has made progress. */
const deadlocks = 10

/** PostgreSQL ended the transaction of the migrations, because it and a transaction of an instance waited for each other. */
const isDeadlock = (error: Migrator.MigrationError | SqlError.SqlError): boolean => {
  const reason = error._tag === "MigrationError" ? error.cause : error
  return SqlError.isSqlError(reason) && reason.reason._tag === "DeadlockError"
}

/** Returns the names of the migrations that it applied. `place` names the database in errors. `known`: those of this version. */
export const migrate = (place: string, known: Migrations = migrations) =>
  Effect.gen(function* () {
    yield* checkServerVersion(place)
    yield* refuseNewer(place, yield* presentVersion, latestOf(known))
    yield* refuseOlder(place)
    yield* refuseBeside(place, known)
    // Instances of an earlier version may write meanwhile, if the changes are compatible.
    const names = yield* Effect.retry(migrateTo({ known }), { while: isDeadlock, times: deadlocks })
    const log =
      names.length > 0 ? Effect.logInfo("database schema updated") : Effect.logDebug("database schema unchanged")
    yield* Effect.annotateLogs(log, { schema: latestOf(known) })
    return names
  }).pipe(
    Effect.catchTags({
      SqlError: (error) => Effect.fail(explain(place)(error)),
      MigrationError: (error) =>
        Effect.fail(DatabaseError.of("MigrationFailed", `migration failed on ${place}: ${error.message}`, error))
    })
  )
