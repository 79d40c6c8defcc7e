// How repositories run their queries: named, timed, and with everything unexpected as a defect.
import { Clock, Effect, Metric } from "effect"
import type { Schema } from "effect"
import { SqlClient, SqlError } from "effect/sql"

export const databaseQuerySeconds = Metric.histogram("database_query_seconds", {
  description: "Time of a repository's query, in seconds.",
  boundaries: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})

/** The client of repositories: columns are named as they are written, also where a host's client renames its own. */
export const client = Effect.map(SqlClient.SqlClient, (sql) => sql.withoutTransforms())

type Unexpected = SqlError.SqlError | Schema.SchemaError

const isUnexpected = <E>(error: E): error is Extract<E, Unexpected> => {
  const tag = (error as { readonly _tag?: unknown } | null)?._tag
  return tag === "SqlError" || tag === "SchemaError"
}

/** The name tells where the query is; a stack trace of each would be paid also where nobody collects spans. */
const untraced = { captureStackTrace: false }

/** `name` becomes the span and the label of `database_query_seconds`: a method's name, never a value. */
export const query =
  (name: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>) => {
    const seconds = Metric.withAttributes(databaseQuerySeconds, { query: name })
    return Clock.clockWith((clock) => {
      const start = clock.currentTimeNanosUnsafe()
      return Effect.onExit(self, () => Metric.update(seconds, Number(clock.currentTimeNanosUnsafe() - start) / 1e9))
    }).pipe(Effect.catchIf(isUnexpected<E>, Effect.die), Effect.withSpan(name, {}, untraced))
  }

/** The violation of the unique constraint `name` is an expected failure. */
export const onConflict =
  <E2>(name: string, failure: () => E2) =>
  <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.catchIf(self, isConflict<E>(name), () => Effect.fail(failure()))

const isConflict =
  <E>(name: string) =>
  (error: E): error is Extract<E, SqlError.SqlError> =>
    SqlError.isSqlError(error) && error.reason._tag === "UniqueViolation" && error.reason.constraint === name

/** The violation of the foreign key `name` is an expected failure. */
export const onForeignKey =
  <E2>(name: string, failure: () => E2) =>
  <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.catchIf(self, isForeignKey<E>(name), () => Effect.fail(failure()))

/** The driver's error has the constraint; the reason that is made of it has not. */
const isForeignKey =
  <E>(name: string) =>
  (error: E): error is Extract<E, SqlError.SqlError> =>
    SqlError.isSqlError(error) &&
    error.reason._tag === "ConstraintError" &&
    (error.reason.cause as { readonly constraint?: unknown } | null)?.constraint === name
