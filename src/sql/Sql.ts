// Opens the database, a given PostgreSQL or the embedded one, and brings its schema up to date.
import { PgClient } from "@effect/sql-pg"
import { Duration, Effect, Layer, Redacted } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as path from "node:path"
import {
  addressOf,
  findSettingsBy,
  makePoolClient,
  refuseSharedSessions,
  stallingConnector,
  tlsOf
} from "./Connection.ts"
import type { DatabaseError, SettingsBy } from "./Connection.ts"
import * as Migrate from "./Migrate.ts"
import * as EmbeddedPostgres from "./embedded/EmbeddedPostgres.ts"

export type Options =
  | { readonly _tag: "Url"; readonly url: Redacted.Redacted; readonly pool?: PoolOptions }
  | ({ readonly _tag: "Embedded"; readonly pool?: PoolOptions } & EmbeddedPostgres.Options)

export interface PoolOptions {
  readonly maxConnections?: number
  /** The longest time that one statement may run. Absent: ten seconds. A connection that is silent for 1.25 times as long is closed. */
  readonly statementTimeout?: Duration.Input
}

/** A database that is open and has the current schema. */
export interface Database {
  /** Names the database in messages: host, port and name, or the data directory. Never a user name or a password. */
  readonly place: string
  /** Whether the service runs the server itself. */
  readonly embedded: boolean
  /** The folder with the files of the embedded database, which may be outside of the data directory. Absent: a given database. */
  readonly files?: string
  readonly url: Redacted.Redacted
  /** How sessions get their settings. Absent: when they start. */
  readonly settingsBy?: SettingsBy
  /** The URL of the embedded server's Unix socket, which contains no secret. Absent: a given database, or a server on TCP. */
  readonly socketUrl: string | undefined
  /** The migrations that were applied when it was opened, such as `0073_baseline`. */
  readonly applied: ReadonlyArray<string>
}

/** The name of a backup, a restore or a repair among the sessions of the server. */
const maintenanceName = "effect-relayer maintenance"

/** The name of a start that changes the schema: it is no instance yet, so that others do not wait for it to stop. */
const migrationName = "effect-relayer migration"

const statementTimeout = (options: PoolOptions = {}) => Duration.toMillis(options.statementTimeout ?? "10 seconds")

/** Milliseconds. By then the server has ended the statement and said so. */
const longestSilence = (options: PoolOptions | undefined) => Math.ceil(statementTimeout(options) * 1.25)

const pool = (options: PoolOptions = {}): PgClient.PgPoolConfig => ({
  applicationName: Migrate.applicationName,
  connectTimeout: Math.min(statementTimeout(options), 5000),
  idleTimeout: "5 minutes",
  maxConnections: options.maxConnections ?? 10,
  startupParameters: {
    // In a zone east of UTC, the latest timestamps fall into a year of five digits, which JavaScript does not parse.
    TimeZone: "UTC",
    statement_timeout: String(statementTimeout(options)),
    idle_in_transaction_session_timeout: "60000"
  }
})

/** Host, port and database; for a socket its folder and the database. */
const placeOf = (url: Redacted.Redacted): string => {
  const parsed = URL.parse(Redacted.value(url))
  if (parsed === null) return "the given URL"
  const address = addressOf({ url })
  const host = "path" in address ? path.dirname(address.path) : `${address.host}:${address.port}`
  return `${host}${parsed.pathname}`
}

type Configuration = PgClient.PgPoolConfig & { readonly url: Redacted.Redacted }

const withTls = <C extends Configuration>(config: C) => Effect.map(tlsOf(config.url), (ssl) => ({ ...config, ssl }))

const makeClient = Effect.fnUntraced(function* (
  place: string,
  config: Configuration,
  settingsBy: SettingsBy = "startup"
) {
  const make = settingsBy === "startup" ? PgClient.make : makePoolClient
  return yield* Effect.flatMap(withTls(config), make).pipe(
    Effect.catchTag("SqlError", (error) => Effect.fail(Migrate.explain(place)(error)))
  )
})

const refuseShared = (place: string, config: PgClient.PgClientConfig) =>
  refuseSharedSessions(place, config).pipe(
    Effect.catchTag("SqlError", (error) => Effect.fail(Migrate.explain(place)(error)))
  )

/** Fails if sessions are shared. Returns how they get their settings. */
const inspect = Effect.fnUntraced(function* (place: string, config: Configuration) {
  const { startupParameters = {}, ...bare } = yield* withTls(config)
  yield* refuseShared(place, bare)
  return yield* findSettingsBy({ ...bare, startupParameters }).pipe(Effect.mapError(Migrate.explain(place)))
})

/** Connections without a statement timeout. */
const patient = (options: PoolOptions | undefined, maxConnections = 1): PgClient.PgPoolConfig => ({
  ...pool({ ...options, maxConnections }),
  startupParameters: { TimeZone: "UTC" }
})

/** A migration may take longer than the statement of a request. */
const migrateAt = (
  { place, settingsBy, url }: Pick<Database, "place" | "settingsBy" | "url">,
  options: PoolOptions | undefined
) =>
  Effect.provide(
    Migrate.migrate(place),
    PgClient.layerFrom(makeClient(place, { ...patient(options), applicationName: migrationName, url }, settingsBy))
  )

/** The embedded server runs until the scope closes. */
export const open = Effect.fn("Sql.open")(function* (
  options: Options
): Effect.fn.Return<Database, DatabaseError, Scope.Scope> {
  const { place, url, socketUrl, ...rest } =
    options._tag === "Url"
      ? { place: placeOf(options.url), url: options.url, socketUrl: undefined }
      : { place: options.dataDir, ...(yield* EmbeddedPostgres.start(options)) }
  const embedded = options._tag === "Embedded"
  const sessions = { ...pool(options.pool), applicationName: migrationName, url }
  const found = embedded ? {} : { settingsBy: yield* inspect(place, sessions) }
  const applied = yield* migrateAt({ place, url, ...found }, options.pool)
  const files = "files" in rest ? { files: rest.files } : {}
  return { place, embedded, ...files, ...found, url, socketUrl, applied }
})

const hostPlace = "the host program's client"

const isPgClient = (sql: SqlClient.SqlClient): sql is PgClient.PgClient => PgClient.TypeId in sql

/**
 * For a host program with a `SqlClient` of its own: brings the schema of its database up to date, as `open` does. Returns the names of
 * the migrations that were applied. A migration may take longer than the host program lets its statements run.
 */
export const migrate: Effect.Effect<ReadonlyArray<string>, DatabaseError, SqlClient.SqlClient> = Effect.gen(
  function* () {
    const sql = yield* SqlClient.SqlClient
    if (isPgClient(sql)) yield* refuseShared(hostPlace, sql.config)
    return yield* Migrate.migrate(hostPlace)
  }
)

/** Connections to a database that is open. */
export const layerOpen = (
  { place, settingsBy, url }: Pick<Database, "place" | "settingsBy" | "url">,
  options?: PoolOptions
): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient, DatabaseError> => {
  const config = { ...pool(options), url }
  const connector = stallingConnector(addressOf(config), longestSilence(options))
  return PgClient.layerFrom(Effect.flatMap(connector, (stream) => makeClient(place, { ...config, stream }, settingsBy)))
}

/** Opens the database and connects to it. No table of a feature is read. */
export const layer = (options: Options): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient, DatabaseError> =>
  Layer.unwrap(Effect.map(open(options), (database) => layerOpen(database, options.pool)))

/**
 * Connections without a statement timeout, for maintenance such as a backup, which needs one. It does not migrate. For the embedded
 * database, it uses the server of a running service, or starts one.
 */
export const maintenance = (
  options: Options,
  connections = 1
): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient, DatabaseError> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const place = options._tag === "Url" ? placeOf(options.url) : options.dataDir
      const url =
        options._tag === "Url"
          ? options.url
          : ((yield* EmbeddedPostgres.find(options.dataDir)) ?? (yield* EmbeddedPostgres.start(options))).url
      const config = { ...patient(options.pool, connections), applicationName: maintenanceName, url }
      const settingsBy = options._tag === "Url" ? yield* inspect(place, config) : "startup"
      return PgClient.layerFrom(makeClient(place, config, settingsBy))
    })
  )
