// LISTEN and NOTIFY: instances notify each other that there is something new. A notification carries no data and may be lost.
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Effect, Queue } from "effect"
import type { Cause } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { query } from "./Query.ts"

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
