// The database: a PostgreSQL that is given, or the embedded one, with its schema up to date.
import { PgClient } from "@effect/sql-pg"
import { Duration, Effect, Layer, Redacted } from "effect"
import { Migrator } from "effect/sql"
import type { Scope } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import * as path from "node:path"
import * as Address from "./Address.ts"
import { DatabaseError } from "./DatabaseError.ts"
import * as EmbeddedPostgres from "./embedded/EmbeddedPostgres.ts"
import { latestMigration, migrations, migrationsTable } from "./migrations/index.ts"
import { client } from "./Query.ts"
import * as StallTimeout from "./StallTimeout.ts"

export type Options =
  | { readonly _tag: "Url"; readonly url: Redacted.Redacted; readonly pool?: PoolOptions }
  | ({ readonly _tag: "Embedded"; readonly pool?: PoolOptions } & EmbeddedPostgres.Options)

export interface PoolOptions {
  readonly maxConnections?: number
  /** Longest run of one statement. Absent: ten seconds. A connection that is silent for a quarter longer is broken off. */
  readonly statementTimeout?: Duration.Input
}

const minimumVersion = 15

/** How a backup or a restore appears among the sessions of the server. */
const maintenanceName = "effect-relayer maintenance"

const runMigrations = Migrator.make({})

const longestStatement = (options: PoolOptions = {}) => Duration.toMillis(options.statementTimeout ?? "10 seconds")

/** Milliseconds: the server has ended a statement by then, and said so. */
const longestSilence = (options: PoolOptions | undefined) => Math.ceil(longestStatement(options) * 1.25)

const pool = (options: PoolOptions = {}): PgClient.PgPoolConfig => ({
  applicationName: "effect-relayer",
  connectTimeout: Math.min(longestStatement(options), 5000),
  idleTimeout: "5 minutes",
  maxConnections: options.maxConnections ?? 10,
  startupParameters: {
    // Or moments at the end of time are in a year of five digits, which nobody reads.
    TimeZone: "UTC",
    statement_timeout: String(longestStatement(options)),
    idle_in_transaction_session_timeout: "60000"
  }
})

/** Host, port and database; of a socket URL (`?host=/folder`) the folder. Never user or password. */
const where = (url: Redacted.Redacted): string => {
  const parsed = URL.parse(Redacted.value(url))
  if (parsed === null) return "the given URL"
  const address = Address.of({ url })
  const host = "path" in address ? path.dirname(address.path) : `${address.host}:${address.port}`
  return `${host}${parsed.pathname}`
}

const explain = (place: string) => (error: SqlError.SqlError) => {
  const { _tag, cause } = error.reason
  const text = cause instanceof Error ? cause.message : String(cause)
  return new DatabaseError({
    message:
      _tag === "AuthenticationError"
        ? `the database at ${place} refuses the user name or password`
        : `cannot use the database at ${place}: ${text.split("\n")[0]}`,
    cause: error
  })
}

const checkVersion = (place: string) =>
  Effect.gen(function* () {
    const sql = yield* client
    const [row] = yield* sql<{ version: string }>`SELECT current_setting('server_version_num') AS version`
    const version = Math.floor(Number(row?.version) / 10_000)
    if (version < minimumVersion) {
      return yield* new DatabaseError({
        message: `the database at ${place} is PostgreSQL ${version}; ${minimumVersion} or later is needed`
      })
    }
  })

const checkNotNewer = (place: string) =>
  Effect.gen(function* () {
    const sql = yield* client
    const [table] = yield* sql`SELECT 1 WHERE to_regclass(${migrationsTable}) IS NOT NULL`
    if (table === undefined) return
    const [row] = yield* sql<{ latest: number | null }>`SELECT max(migration_id) AS latest FROM ${sql(migrationsTable)}`
    const latest = row?.latest ?? 0
    if (latest > latestMigration) {
      return yield* new DatabaseError({
        message: `the database at ${place} has schema ${latest}, newer than this version knows (${latestMigration}): start a newer version`
      })
    }
  })

/** Brings the schema up to date; `place` names the database in errors. */
export const migrate = (place: string) =>
  Effect.gen(function* () {
    yield* checkVersion(place)
    yield* checkNotNewer(place)
    const done = yield* runMigrations({ loader: Migrator.fromRecord(migrations), table: migrationsTable })
    for (const [id, name] of done) yield* Effect.logInfo("migration applied", { migration: `${id}_${name}` })
  }).pipe(
    Effect.catchTags({
      SqlError: (error) => Effect.fail(explain(place)(error)),
      MigrationError: (error) =>
        Effect.fail(new DatabaseError({ message: `migration failed on ${place}: ${error.message}`, cause: error }))
    })
  )

interface Database {
  /** Names it in errors. */
  readonly place: string
  readonly url: Redacted.Redacted
}

const clientOf = (place: string, config: PgClient.PgPoolConfig) =>
  PgClient.make(config).pipe(Effect.mapError(explain(place)))

/** One connection without limits of time for a statement. */
const patient = (options: PoolOptions | undefined): PgClient.PgPoolConfig => ({
  ...pool({ ...options, maxConnections: 1 }),
  startupParameters: { TimeZone: "UTC" }
})

/** On a connection of its own: a migration may take longer than a request's statement. */
const migrated = ({ place, url }: Database, options: PoolOptions | undefined) =>
  Effect.provide(migrate(place), PgClient.layerFrom(clientOf(place, { ...patient(options), url })))

/** The embedded one runs as long as the scope is open. */
const open = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Database, DatabaseError, Scope.Scope> {
  const database =
    options._tag === "Url"
      ? { place: where(options.url), url: options.url }
      : { place: options.dataDir, url: (yield* EmbeddedPostgres.start(options)).url }
  yield* migrated(database, options.pool)
  return database
})

/** The database with its schema, for other processes to connect to for as long as the scope is open. */
export const serve = (options: Options): Effect.Effect<Redacted.Redacted, DatabaseError, Scope.Scope> =>
  Effect.map(open(options), ({ url }) => url)

/**
 * One connection whose statements may take as long as they need, for maintenance such as a backup. It does not migrate. Of
 * the embedded database, it uses the server of a running service, or starts one.
 */
export const maintenance = (options: Options): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient, DatabaseError> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const place = options._tag === "Url" ? where(options.url) : options.dataDir
      const url =
        options._tag === "Url"
          ? options.url
          : ((yield* EmbeddedPostgres.find(options.dataDir)) ?? (yield* EmbeddedPostgres.start(options))).url
      return PgClient.layerFrom(clientOf(place, { ...patient(options.pool), applicationName: maintenanceName, url }))
    })
  )

/** The client and its schema; nothing of a feature. */
export const layer = (options: Options): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient, DatabaseError> =>
  Layer.unwrap(
    Effect.map(open(options), ({ place, url }) => {
      const config = { ...pool(options.pool), url }
      const connector = StallTimeout.connector(Address.of(config), longestSilence(options.pool))
      return PgClient.layerFrom(Effect.flatMap(connector, (stream) => clientOf(place, { ...config, stream })))
    })
  )
