// LISTEN and NOTIFY: how instances wake each other up. A wake-up may be lost, and never carries anything.
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Effect, Queue } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { query } from "./Query.ts"

const isPgClient = (sql: SqlClient.SqlClient): sql is PgClient.PgClient => PgClient.TypeId in sql

/** A host's client may be none that can listen: then only looking again helps. */
export const canListen = isPgClient

/** A statement of its own: as part of a transaction, it would make all who notify commit one after the other. */
export const notify = (sql: SqlClient.SqlClient, channel: string): Effect.Effect<void> =>
  sql`SELECT pg_notify(${channel}, '')`.pipe(Effect.asVoid, query("Listen.notify"))

const firstDelay = 200
const longestDelay = 10_000

/**
 * Runs `heard` when listening has begun, as before that anything may have happened, and at each notification. Listens on a
 * connection of its own, so that a small pool is not used up, and again with longer and longer pauses when that breaks.
 */
export const listen = (sql: SqlClient.SqlClient, channel: string, heard: Effect.Effect<void>): Effect.Effect<void> => {
  if (!isPgClient(sql)) return Effect.never
  let delay = firstDelay
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
    Effect.catchCause((cause) =>
      Effect.annotateLogs(Effect.logDebug("listening for notifications failed", cause), { channel })
    ),
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
