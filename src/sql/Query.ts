// Names and times the queries of repositories, gives each its share of the connections, and turns unexpected errors into defects.
import { Clock, Context, Effect, Metric } from "effect"
import type { Schema, Scope, Semaphore } from "effect"
import { SqlClient, SqlError } from "effect/sql"

// A share of the pool of connections: statements and transactions that run under a share wait until it has a connection left, so
// that they cannot take all connections of the pool.

/** Semaphores with one permit per connection. `common` is the same for several shares. */
export interface ConnectionShare {
  readonly own: Semaphore.Semaphore
  readonly common: Semaphore.Semaphore
}

/** Absent: the whole pool. It is also absent while a connection of the share is held, so that none is taken twice. */
export const CurrentShare = Context.Reference<ConnectionShare | undefined>("effect-relayer/sql/Query/CurrentShare", {
  defaultValue: () => undefined
})

/** Runs `self` under the share. */
export const withShare =
  (share: ConnectionShare | undefined) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(self, CurrentShare, share)

/** Runs `self`, which uses one connection, when the current share has one left. */
export const holdShare = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ context }) => {
    const share = Context.get(context, CurrentShare)
    if (share === undefined) return self
    return share.own.withPermit(share.common.withPermit(withShare(undefined)(self)))
  })

/** Waits until the share has a connection left, and counts it until the scope closes. */
export const takeConnection = (share: ConnectionShare | undefined): Effect.Effect<void, never, Scope.Scope> =>
  share === undefined ? Effect.void : Effect.andThen(share.own.takeScoped(1), share.common.takeScoped(1))

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
    }).pipe(Effect.catchIf(isUnexpected<E>, Effect.die), Effect.withSpan(name, ofDatabase, untraced), holdShare)
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

// Whether a query failed because the database is unavailable or too busy.

const reasons = new Set(["ConnectionError", "AuthenticationError", "LockTimeoutError", "StatementTimeoutError"])

/**
 * SQLSTATEs that the driver does not classify: read-only (25006), out of resources such as disk space (53), shut down, crashed or
 * starting (57P01 to 57P03), and I/O errors (58030).
 */
const states = /^(25006|53...|57P0[1-3]|58030)$/

/** Whether the query itself is correct and may be retried. */
export const isUnavailable = (defect: unknown): boolean =>
  SqlError.isSqlError(defect) &&
  (reasons.has(defect.reason._tag) ||
    states.test(String((defect.reason.cause as { readonly code?: unknown } | null)?.code)))
