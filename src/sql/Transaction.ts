// Transactions of services: what they wrap happens whole or not at all.
import { Effect, Option } from "effect"
import { SqlClient, SqlError } from "effect/sql"

/**
 * Runs an effect in a transaction of its own, or as part of the one that is running (a savepoint). A failure rolls back
 * what it has written.
 */
export const make = Effect.map(
  SqlClient.SqlClient,
  (sql) =>
    <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.catchIf(sql.withTransaction(self), isSqlError<E>, Effect.die) as Effect.Effect<A, E, R>
)

/**
 * For a single statement: one that fails takes nothing of the running transaction with it. Outside of one, it is a
 * transaction by itself.
 */
export const savepoint = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const transaction = yield* make
  return <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Effect.serviceOption(sql.transactionService), (running) =>
      Option.isSome(running) ? transaction(self) : self
    )
})

const isSqlError = <E>(error: E | SqlError.SqlError): error is SqlError.SqlError => SqlError.isSqlError(error)
