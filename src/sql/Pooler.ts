// A pooler between the service and PostgreSQL: whether a connection has a session of its own, and settings that it does not pass on.
import { PgClient, PgConnection, PgPool } from "@effect/sql-pg"
import { Effect, Option, Queue, Stream } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlConnection, SqlError } from "effect/sql"
import { randomUUID } from "node:crypto"
import { DatabaseError } from "./DatabaseError.ts"
import { commit } from "./PausableConnection.ts"
import { systemAttribute } from "./Query.ts"

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
export const refuseShared = Effect.fnUntraced(function* (place: string, config: PgClient.PgClientConfig) {
  if (!(yield* isShared(config))) return
  const message = `the database at ${place} is behind a pooler in transaction mode, which loses locks and notifications`
  return yield* DatabaseError.of("SessionsShared", message)
})

/** Whether the settings of the configuration have an effect if they are sent when a session starts. PgBouncer refuses or ignores some. */
export const settingsBy = Effect.fnUntraced(function* ({ startupParameters = {}, ...config }: PgClient.PgClientConfig) {
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
export const makeClient = Effect.fnUntraced(function* ({ startupParameters = {}, ...config }: PgClient.PgPoolConfig) {
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
