// Names and times the queries of repositories, and turns unexpected errors into defects.
import { Clock, Effect, Metric } from "effect"
import type { Schema } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import * as ConnectionShare from "./ConnectionShare.ts"

export const databaseQuerySeconds = Metric.histogram("database_query_seconds", {
  description: "Time of a repository's query, in seconds.",
  boundaries: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})

/** The client for repositories. It does not rename columns, even if the client of a host program does. */
export const client = Effect.map(SqlClient.SqlClient, (sql) => sql.withoutTransforms())

type Unexpected = SqlError.SqlError | Schema.SchemaError

const isUnexpected = <E>(error: E): error is Extract<E, Unexpected> => {
  const tag = (error as { readonly _tag?: unknown } | null)?._tag
  return tag === "SqlError" || tag === "SchemaError"
}

/** The name identifies the query. A stack trace would cost time even if no spans are exported. */
const untraced = { captureStackTrace: false }

/** The OpenTelemetry attribute of the spans of queries and of their statements. */
export const systemAttribute = "db.system.name"

const ofDatabase = { attributes: { [systemAttribute]: "postgresql" } }

/** `name` is the name of the span and the label of `database_query_seconds`. It is the name of a method, never a value. */
export const query =
  (name: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>) => {
    const seconds = Metric.withAttributes(databaseQuerySeconds, { query: name })
    return Clock.clockWith((clock) => {
      const start = clock.currentTimeNanosUnsafe()
      return Effect.onExit(self, () => Metric.update(seconds, Number(clock.currentTimeNanosUnsafe() - start) / 1e9))
    }).pipe(
      Effect.catchIf(isUnexpected<E>, Effect.die),
      Effect.withSpan(name, ofDatabase, untraced),
      ConnectionShare.hold
    )
  }

/** Turns a violation of the unique constraint `name` into a failure. */
export const onConflict =
  <E2>(name: string, failure: () => E2) =>
  <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.catchIf(self, isConflict<E>(name), () => Effect.fail(failure()))

const isConflict =
  <E>(name: string) =>
  (error: E): error is Extract<E, SqlError.SqlError> =>
    SqlError.isSqlError(error) && error.reason._tag === "UniqueViolation" && error.reason.constraint === name

/** Turns a violation of the foreign key `name` into a failure. */
export const onForeignKey =
  <E2>(name: string, failure: () => E2) =>
  <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.catchIf(self, isForeignKey<E>(name), () => Effect.fail(failure()))

/** Only the driver's error, which is the cause of the reason, has the name of the constraint. */
const isForeignKey =
  <E>(name: string) =>
  (error: E): error is Extract<E, SqlError.SqlError> =>
    SqlError.isSqlError(error) &&
    error.reason._tag === "ConstraintError" &&
    (error.reason.cause as { readonly constraint?: unknown } | null)?.constraint === name
