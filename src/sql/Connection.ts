// Connections to a database: its address, TLS, poolers, a server that does not answer, and the failure of a start without it.
import { Cause, Effect, Option, Queue, Redacted, Schema, Stream } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlConnection, SqlError } from "effect/sql"
import { PgClient, PgConnection, PgPool } from "@effect/sql-pg"
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as net from "node:net"
import type { Duplex } from "node:stream"
import type { ConnectionOptions } from "node:tls"
import { commit, systemAttribute } from "./Transaction.ts"

/** What failed, for programs that react to it, such as a process that names its settings. */
const Reason = Schema.Literals([
  "AuthenticationFailed",
  "BinariesMissing",
  "BinariesUnusable",
  "DataVersionMismatch",
  "DirectoryInUse",
  "MigrationFailed",
  "OlderInstances",
  "SchemaTooNew",
  "SchemaTooOld",
  "ServerTooOld",
  "SessionsShared",
  "SystemFailure",
  "UrlInvalid"
])
type Reason = typeof Reason.Type

export class DatabaseError extends Schema.TaggedError<DatabaseError>()("DatabaseError", {
  reason: Reason,
  /** One line that says what happened. It contains no secret and names no setting. */
  message: Schema.NonEmptyString,
  cause: Schema.optionalKey(Schema.Defect())
}) {
  static of(reason: Reason, message: string, cause?: unknown): DatabaseError {
    return new DatabaseError({ reason, message, ...(cause === undefined ? {} : { cause }) })
  }

  /** For `Effect.mapError`: adds the first line of what the operating system, or a program, reports. */
  static system(message: string): (error: unknown) => DatabaseError {
    return (error) => {
      const cause = Cause.isUnknownError(error) ? error.cause : error
      const text = cause instanceof Error ? cause.message : String(cause)
      return DatabaseError.of("SystemFailure", `${message}: ${text.split("\n")[0]}`, cause)
    }
  }
}

// The address that a database configuration points to.

export type DatabaseAddress = { readonly path: string } | { readonly host: string; readonly port: number }

/**
 * Reads a URL as libpq does: `?host=` and `?port=` take precedence over the authority, and a host that starts with a slash
 * is the folder of a Unix socket.
 */
export const addressOf = (config: PgClient.PgClientConfig): DatabaseAddress => {
  if (config.path !== undefined) return { path: config.path }
  const url = config.url === undefined ? null : URL.parse(Redacted.value(config.url))
  const named = url?.searchParams.get("host") ?? decodeURIComponent(url?.hostname ?? "").replace(/^\[(.*)\]$/, "$1")
  const host = config.host ?? (named || "localhost")
  const port = config.port ?? Number(url?.searchParams.get("port") ?? (url?.port || 5432))
  return host.startsWith("/") ? { path: socketFile(host, port) } : { host, port }
}

/** The socket that PostgreSQL makes in `folder`; its name contains the port also if there is no TCP. */
export const socketFile = (folder: string, port: number): string => `${folder}/.s.PGSQL.${port}`

/**
 * The URL of a socket in `folder`, for our code and for libpq. The host in the authority is a placeholder, because a URL with a user
 * needs one. A space is `%20`: libpq does not read `+` as a space.
 */
export const urlOfSocket = (username: string, database: string, folder: string, port: number): string =>
  `postgres://${username}@localhost:${port}/${database}?host=${encodeURIComponent(folder)}`

// Whether the connection to the database uses TLS, and whom it trusts: what the `ssl…` parameters of a database URL say.

/** As libpq names them. Others that begin with `ssl` are refused, because ignoring one could weaken the connection. */
const tlsParameters = new Set(["sslmode", "sslrootcert", "sslcert", "sslkey"])

const modes = ["disable", "require", "verify-ca", "verify-full"] as const

type Mode = (typeof modes)[number]

const refused = (reason: string) => DatabaseError.of("UrlInvalid", `the database URL is not usable: ${reason}`)

/** A Unix socket or a loopback address, whose traffic does not leave this machine. */
const isLocal = (url: Redacted.Redacted): boolean => {
  const address = addressOf({ url })
  return "path" in address || /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(address.host)
}

const modeOf = (url: Redacted.Redacted, given: string | null): Mode | undefined => {
  if (given === null) return isLocal(url) ? "disable" : "require"
  return modes.find((mode) => mode === given)
}

const readTlsFile = (name: string, file: string) =>
  Effect.try({
    try: () => fs.readFileSync(file),
    catch: (cause) => refused(`cannot read ${name} ${file}: ${cause instanceof Error ? cause.message : String(cause)}`)
  })

/**
 * `false`: plain text. Absent `sslmode` means `require`, except on a socket or a loopback address. `require` and `verify-full`
 * verify the certificate and its host name, `verify-ca` the certificate alone. `sslrootcert` is a file of trusted
 * certificates, or `system`; absent: those that Node trusts.
 */
export const tlsOf = Effect.fnUntraced(function* (
  url: Redacted.Redacted
): Effect.fn.Return<false | ConnectionOptions, DatabaseError> {
  const parameters = URL.parse(Redacted.value(url))?.searchParams ?? new URLSearchParams()
  const unknown = [...parameters.keys()].find((name) => /^ssl/i.test(name) && !tlsParameters.has(name))
  if (unknown !== undefined) {
    return yield* refused(`${unknown} is not supported; supported are ${[...tlsParameters].join(", ")}`)
  }
  const given = parameters.get("sslmode")
  const mode = modeOf(url, given)
  if (mode === undefined) {
    return yield* refused(
      given === "prefer" || given === "allow"
        ? `sslmode=${given} falls back to plain text; use require, or disable to permit plain text`
        : `sslmode must be one of ${modes.join(", ")}`
    )
  }
  if (mode === "disable") return false
  const file = (name: "sslrootcert" | "sslcert" | "sslkey") => {
    const value = parameters.get(name)
    return value === null || value === "system" ? Effect.undefined : readTlsFile(name, value)
  }
  const [ca, cert, key] = [yield* file("sslrootcert"), yield* file("sslcert"), yield* file("sslkey")]
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(mode === "verify-ca" ? { checkServerIdentity: () => undefined } : {})
  }
})

// Closes connections to a database server that is frozen or unreachable. Such a server neither answers nor refuses, so a statement, or a
// COMMIT, which cannot be interrupted, would wait for ever. `statement_timeout` ends slow statements, so a connection that is silent
// for longer has no working server at its other end.

/** Knows whether an answer is due. TLS uses the handle directly: then no answer is ever due. */
class WatchedSocket extends net.Socket {
  /** Timer ticks since the last unanswered write. `undefined`: no answer is due. */
  ticks: number | undefined

  override _write(chunk: unknown, encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.ticks ??= 0
    super._write(chunk, encoding, callback)
  }

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    this.ticks = undefined
    return super.push(chunk, encoding)
  }
}

/** Ticks are counted instead of time, because no time counts while this process is stopped. */
const maxTicks = 10

/** Opens connections to `address`, and closes those that are silent for longer than `longest` milliseconds. */
export const stallingConnector = (
  address: DatabaseAddress,
  longest: number
): Effect.Effect<() => Duplex, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const open = new Set<WatchedSocket>()
      const tick = () => {
        for (const socket of open) {
          if (socket.ticks === undefined || ++socket.ticks <= maxTicks) continue
          socket.destroy(new Error(`the database has been silent for ${longest} ms`))
        }
      }
      const timer = setInterval(tick, longest / maxTicks).unref()
      const connect = (): Duplex => {
        const socket = new WatchedSocket()
        open.add(socket)
        return socket
          .once("close", () => open.delete(socket))
          .setNoDelay(true)
          .setKeepAlive(true, 30_000)
          .connect(address)
      }
      return { connect, timer }
    }),
    ({ timer }) => Effect.sync(() => clearInterval(timer))
  ).pipe(Effect.map(({ connect }) => connect))

// A pooler between the service and PostgreSQL: whether a connection has a session of its own, and settings that it does not pass on.

/** How the sessions of a database get `startupParameters`: when they start, or by statements that follow. */
export type SettingsBy = "startup" | "statements"

/** `08P01`: PgBouncer refuses startup parameters that it does not know. It uses this code for other failures, too. */
const protocolViolation = "08P01"

const codeOf = ({ reason }: SqlError.SqlError) => (reason.cause as { readonly code?: unknown } | null | undefined)?.code

/** Statements are not named: behind a pooler, the session may be one in which another connection has used the name. */
const connect = (config: PgClient.PgClientConfig) => PgConnection.make({ ...config, prepare: false })

/** Names a session of the server. Two sessions that exist at the same time never have the same name, whatever the load. */
const session = "SELECT pid || ' since ' || backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"

/** Times that each connection names its session: other clients of the pooler may take the session between two statements. */
const rounds = 5

/**
 * Connections that name their sessions. A pooler may consist of processes that share a port, each with sessions of its own (`so_reuseport` of
 * PgBouncer): of more connections than processes, two lead to the same process.
 */
const connections = 5

/**
 * Whether connections share sessions of the server. A connection with a session of its own always names the same one, which no other
 * connection names. And PostgreSQL delivers a committed notification to a session before it answers the next statement there: a connection
 * that hears none has no session. The reverse proves nothing: a pooler passes on a notification that is late enough to come with an answer.
 */
const isShared = Effect.fnUntraced(function* (config: PgClient.PgClientConfig) {
  const [one, other] = [yield* connect(config), yield* connect(config)]
  const others = yield* Effect.replicateEffect(connect(config), connections - 2)
  const names: Array<unknown> = []
  for (let round = 0; round < rounds; round++) {
    for (const connection of [one, other, ...others]) names.push((yield* connection.queryValues(session))[0]?.[0])
  }
  const areOwn = names.every((name, index) => name === names[index % connections])
  if (!areOwn || new Set(names).size < connections) return true
  const channel = `effect_relayer_${randomUUID()}`
  const listening = yield* one.pin
  const heard = yield* listening.listen(channel)
  yield* other.query("SELECT pg_notify($1, '')", [channel])
  yield* listening.query("SELECT 1")
  return Option.isNone(yield* Queue.poll(heard))
}, Effect.scoped)

/**
 * Fails if the connections of the configuration share sessions, as those of a pooler in transaction mode do. Locks, notifications, settings
 * and prepared statements belong to a session: two instances would hold the same lock, and statements would fail at random.
 */
export const refuseSharedSessions = Effect.fnUntraced(function* (place: string, config: PgClient.PgClientConfig) {
  if (!(yield* isShared(config))) return
  const message = `the database at ${place} is behind a pooler in transaction mode, which loses locks and notifications`
  return yield* DatabaseError.of("SessionsShared", message)
})

/** Whether the settings of the configuration have an effect if they are sent when a session starts. PgBouncer refuses or ignores some. */
export const findSettingsBy = Effect.fnUntraced(function* ({
  startupParameters = {},
  ...config
}: PgClient.PgClientConfig) {
  const names = Object.keys(startupParameters)
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* connect({ ...config, startupParameters })
      const rows = yield* connection.queryValues(
        "SELECT name, setting FROM pg_settings WHERE lower(name) = ANY(string_to_array($1, ','))",
        [names.map((name) => name.toLowerCase()).join(",")]
      )
      const found = new Map(rows.map(([name, setting]) => [name, setting]))
      return names.every((name) => found.get(name) === startupParameters[name]) ? "startup" : ("statements" as const)
    })
  ).pipe(
    Effect.catchIf(
      (error) => codeOf(error) === protocolViolation,
      (): Effect.Effect<SettingsBy> => Effect.succeed("statements")
    )
  )
})

const connectionOf = (session: PgConnection.PgConnection): SqlConnection.Connection => {
  const execute =
    (prepare: boolean): SqlConnection.Connection["execute"] =>
    (statement, params, transform = (rows) => rows) =>
      Effect.map(session.query(statement, params, prepare), ({ rows }) => transform(rows))
  return {
    execute: execute(true),
    executeUnprepared: execute(false),
    executeRaw: (statement, params) => session.query(statement, params),
    executeValues: (statement, params) => session.queryValues(statement, params),
    executeValuesUnprepared: (statement, params) => session.queryValues(statement, params, false),
    executeStream: (statement, params, transform = (rows) => rows) =>
      Stream.map(session.stream(statement, params), (row) => transform([row])[0])
  }
}

/** As `PgClient.make`, but each session gets `startupParameters` by a statement before its first one. */
export const makePoolClient = Effect.fnUntraced(function* ({
  startupParameters = {},
  ...config
}: PgClient.PgPoolConfig) {
  // It has what a client of the driver has besides statements, and opens no connection until somebody listens.
  const driver = yield* PgClient.make(config)
  const pool = yield* PgPool.make(config)
  const prepared = new WeakSet<PgConnection.PgConnection>()
  const names = Object.keys(startupParameters)
  const set = `SELECT ${names.map((_, index) => `set_config($${index * 2 + 1}, $${index * 2 + 2}, false)`).join(", ")}`
  const acquire = Effect.tap(pool.get, (session) => {
    if (prepared.has(session) || names.length === 0) return Effect.void
    const settings = session.query(set, Object.entries(startupParameters).flat(), false)
    return Effect.map(settings, () => prepared.add(session))
  })
  const client = yield* SqlClient.make({
    driver: driver.driver,
    acquirer: Effect.map(acquire, connectionOf),
    transactionAcquirer: Effect.map(
      Effect.flatMap(acquire, ({ pin }) => pin),
      connectionOf
    ),
    compiler: PgClient.makeCompiler(),
    commit,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    prepareTransactionControls: true,
    spanAttributes: [[systemAttribute, "postgresql"]]
  })
  const { json, listen, notify } = driver
  return Object.assign(client, { [PgClient.TypeId]: driver[PgClient.TypeId], config, json, listen, notify })
})
