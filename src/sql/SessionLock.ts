// An advisory lock that lives as long as a session of this process: other processes see in `pg_locks` that it is alive.
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Deferred, Effect } from "effect"
import type { Scope } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

const isPgClient = (sql: SqlClient.SqlClient): sql is PgClient.PgClient => PgClient.TypeId in sql

/** Until a session that broke is noticed, and until the next try to open one. */
const interval = "2 seconds"

/** Two numbers of 32 bits identify the lock. */
export type Key = readonly [number, number]

/** The first and the last 32 bits of the 64 random ones at the start of a UUID. */
export const keyOf = (uuid: string): Key => {
  const digits = uuid.replaceAll("-", "")
  return [Number.parseInt(digits.slice(0, 8), 16) | 0, Number.parseInt(digits.slice(8, 16), 16) | 0]
}

/**
 * The first number of the lock that the sessions of all instances share, the ASCII codes of "rely". The second one is the schema
 * that the instance knows.
 */
export const instances = 0x72656c79

/** Whether a session holds the lock of the UUID that the expression `uuid` gives. */
export const isHeld = (sql: SqlClient.SqlClient, uuid: string) => {
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
export const hold = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  [first, second]: Key,
  schema: number
): Effect.fn.Return<void, never, Scope.Scope> {
  if (!isPgClient(sql)) return
  const tried = yield* Deferred.make<void>()
  const session: Effect.Effect<void, SqlError.SqlError> = Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* PgConnection.make(sql.config)
      yield* connection.query("SELECT pg_advisory_lock($1::int, $2::int)", [first, second])
      yield* connection.query("SELECT pg_advisory_lock_shared($1::int, $2::int)", [instances, schema])
      yield* Deferred.succeed(tried, undefined)
      return yield* Effect.forever(Effect.andThen(Effect.sleep(interval), connection.query("SELECT 1")))
    })
  )
  yield* session.pipe(
    Effect.catchCause((cause) => Effect.logDebug("the session that shows that this process is alive has ended", cause)),
    Effect.andThen(Deferred.succeed(tried, undefined)),
    Effect.andThen(Effect.sleep(interval)),
    Effect.forever,
    Effect.forkScoped
  )
  yield* Deferred.await(tried)
})
