// Transactions of services: all of the writes inside are committed, or none.
import { Context, Effect } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import * as ConnectionShare from "./ConnectionShare.ts"
import { PausableConnection } from "./PausableConnection.ts"

const isSqlError = <E>(error: E | SqlError.SqlError): error is SqlError.SqlError => SqlError.isSqlError(error)

const orDie = <A, E, R>(self: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.catchIf(self, isSqlError<E>, Effect.die) as Effect.Effect<A, E, R>

/** Runs an effect in a new transaction, or in a savepoint of the running one. A failure rolls back what it has written. */
export const make = Effect.map(
  SqlClient.SqlClient,
  (sql) =>
    <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.contextWith((context: Context.Context<R>) => {
        const [connection] = Context.getOrUndefined(context, sql.transactionService) ?? []
        const { withTransaction } = connection instanceof PausableConnection ? connection : sql
        return ConnectionShare.hold(orDie(withTransaction(self)))
      })
)

/** Runs an effect in a new transaction that `outside` pauses. `beforePause` is the last part of it before each pause. */
export const makePausable = Effect.map(
  SqlClient.SqlClient,
  (sql) =>
    <A, E, R>(self: Effect.Effect<A, E, R>, beforePause: Effect.Effect<void>): Effect.Effect<A, E, R> =>
      Effect.flatMap(ConnectionShare.Current, (share) =>
        orDie(new PausableConnection(sql, share, beforePause).withTransaction(ConnectionShare.under(undefined)(self)))
      )
)

/**
 * Runs work that waits for something outside of the database, and holds no connection meanwhile: it pauses a pausable
 * transaction, and dies in another one. Statements of the work are not part of the transaction.
 */
export const outside = Effect.map(
  SqlClient.SqlClient,
  (sql) =>
    <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.contextWith((context: Context.Context<R>) => {
        const running = Context.getOrUndefined(context, sql.transactionService)
        if (running === undefined) return work
        const [connection, depth] = running
        if (!(connection instanceof PausableConnection) || depth > 0) {
          return Effect.die(new Error("work outside of the database would hold the connection of a transaction"))
        }
        const withoutTransaction = Context.omit(sql.transactionService)(context) as Context.Context<R>
        const underShare = ConnectionShare.under(connection.share)(work)
        return connection.pause(Effect.updateContext(underShare, () => withoutTransaction))
      })
)

/** Runs an effect on other connections than that of the caller's transaction: it stays if the caller's transaction is rolled back. */
export const apart = Effect.map(
  SqlClient.SqlClient,
  (sql) =>
    <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.updateContext(
        self,
        (context: Context.Context<R>) => Context.omit(sql.transactionService)(context) as Context.Context<R>
      )
)
