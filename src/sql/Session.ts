// What belongs to a session of PostgreSQL: advisory locks that live as long as it does, and notifications between instances.
import { Deferred, Effect, Queue } from "effect"
import type { Cause, Scope } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { PgClient, PgConnection } from "@effect/sql-pg"
import { query } from "./Transaction.ts"

const hasSessions = (sql: SqlClient.SqlClient): sql is PgClient.PgClient => PgClient.TypeId in sql

/** Until a session that broke is noticed, and until the next try to open one. */
const checkInterval = "2 seconds"

/** Two numbers of 32 bits identify the lock. */
export type LockKey = readonly [number, number]

/** The first and the last 32 bits of the 64 random ones at the start of a UUID. */
export const lockKeyOf = (uuid: string): LockKey => {
  const digits = uuid.replaceAll("-", "")
  return [Number.parseInt(digits.slice(0, 8), 16) | 0, Number.parseInt(digits.slice(8, 16), 16) | 0]
}

/**
 * The first number of the lock that the sessions of all instances share, the ASCII codes of "rely". The second one is the schema
 * that the instance knows.
 */
export const instanceLocks = 0x72656c79

/** Whether a session holds the lock of the UUID that the expression `uuid` gives. */
export const isLockHeld = (sql: SqlClient.SqlClient, uuid: string) => {
  const part = (from: number) =>
    sql`(('x' || substr(replace(${sql.literal(uuid)}::text, '-', ''), ${sql.literal(String(from))}, 8))::bit(32)::bigint)`
  return sql`EXISTS (
    SELECT FROM pg_locks k WHERE k.locktype = 'advisory' AND k.objsubid = 2 AND k.granted
      AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND k.classid::bigint = ${part(1)} AND k.objid::bigint = ${part(9)})`
}

/**
 * Holds the lock, and shares that of the instances of a schema, until the scope closes, on a separate connection. If the
 * connection breaks, another one takes the locks. The database client of a host program may be unable to open a connection: then
 * there is no lock.
 */
export const holdLock = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  [first, second]: LockKey,
  schema: number
): Effect.fn.Return<void, never, Scope.Scope> {
  if (!hasSessions(sql)) return
  const tried = yield* Deferred.make<void>()
  const session: Effect.Effect<void, SqlError.SqlError> = Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* PgConnection.make(sql.config)
      yield* connection.query("SELECT pg_advisory_lock($1::int, $2::int)", [first, second])
      yield* connection.query("SELECT pg_advisory_lock_shared($1::int, $2::int)", [instanceLocks, schema])
      yield* Deferred.succeed(tried, undefined)
      return yield* Effect.forever(Effect.andThen(Effect.sleep(checkInterval), connection.query("SELECT 1")))
    })
  )
  yield* session.pipe(
    Effect.catchCause((cause) => Effect.logDebug("the session that shows that this process is alive has ended", cause)),
    Effect.andThen(Deferred.succeed(tried, undefined)),
    Effect.andThen(Effect.sleep(checkInterval)),
    Effect.forever,
    Effect.forkScoped
  )
  yield* Deferred.await(tried)
})

// LISTEN and NOTIFY: instances notify each other that there is something new. A notification carries no data and may be lost.

const isPgClient = (sql: SqlClient.SqlClient): sql is PgClient.PgClient => PgClient.TypeId in sql

/** The client of a host program may be unable to listen. Then the reader has to poll. */
export const canListen = isPgClient

/** Outside of transactions: PostgreSQL commits transactions that notify one after the other. */
export const notify = (sql: SqlClient.SqlClient, channel: string): Effect.Effect<void> =>
  sql`SELECT pg_notify(${channel}, '')`.pipe(Effect.asVoid, query("Listen.notify"))

const firstDelay = 200
const longestDelay = 10_000

/**
 * Runs `heard` at each notification, and when listening begins, because earlier notifications were missed. It listens on a
 * separate connection, so that it takes none of the pool. If that breaks, it reconnects after growing pauses,
 * and logs the first failure as a warning.
 */
export const listen = (sql: SqlClient.SqlClient, channel: string, heard: Effect.Effect<void>): Effect.Effect<void> => {
  if (!isPgClient(sql)) return Effect.never
  let delay = firstDelay
  const broken = (cause: Cause.Cause<SqlError.SqlError>) => {
    const log = delay === firstDelay ? Effect.logWarning : Effect.logDebug
    return Effect.annotateLogs(log("cannot listen for notifications; polling instead", cause), { channel })
  }
  const session: Effect.Effect<void, SqlError.SqlError> = Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* PgConnection.make(sql.config)
      const notifications = yield* connection.listen(channel)
      delay = firstDelay
      yield* heard
      return yield* Effect.forever(Effect.andThen(Queue.takeAll(notifications), heard))
    })
  )
  return session.pipe(
    Effect.catchCause(broken),
    Effect.andThen(
      Effect.suspend(() => {
        const pause = delay
        delay = Math.min(delay * 2, longestDelay)
        return Effect.sleep(pause)
      })
    ),
    Effect.forever
  )
}
