// Transactions of services: all of the writes inside are committed, or none.
import { Effect } from "effect"
import { SqlClient, SqlError } from "effect/sql"

/** Runs an effect in a new transaction, or in a savepoint of the running one. A failure rolls back what it has written. */
export const make = Effect.map(
  SqlClient.SqlClient,
  (sql) =>
    <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.catchIf(sql.withTransaction(self), isSqlError<E>, Effect.die) as Effect.Effect<A, E, R>
)

const isSqlError = <E>(error: E | SqlError.SqlError): error is SqlError.SqlError => SqlError.isSqlError(error)
