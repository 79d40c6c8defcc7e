// Transactions of services: all of the writes inside are committed, or none.
import { Clock, Context, Effect, Exit, Metric, Schedule, Scope } from "effect"
import type { Schema, Semaphore } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import type { SqlConnection, Statement } from "effect/sql"

// Names and times the queries of repositories, gives each its share of the connections, and turns unexpected errors into defects.

// A share of the pool of connections: statements and transactions that run under a share wait until it has a connection left, so
// that they cannot take all connections of the pool.

/** Semaphores with one permit per connection. `common` is the same for several shares. */
export interface ConnectionShare {
  readonly own: Semaphore.Semaphore
  readonly common: Semaphore.Semaphore
}

/** Absent: the whole pool. It is also absent while a connection of the share is held, so that none is taken twice. */
export const CurrentShare = Context.Reference<ConnectionShare | undefined>(
  "effect-relayer/sql/Transaction/CurrentShare",
  {
    defaultValue: () => undefined
  }
)

/** Runs `self` under the share. */
export const withShare =
  (share: ConnectionShare | undefined) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(self, CurrentShare, share)

/** Runs `self`, which uses one connection, when the current share has one left. */
const holdShare = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ context }) => {
    const share = Context.get(context, CurrentShare)
    if (share === undefined) return self
    return share.own.withPermit(share.common.withPermit(withShare(undefined)(self)))
  })

/** Waits until the share has a connection left, and counts it until the scope closes. */
const takeConnection = (share: ConnectionShare | undefined): Effect.Effect<void, never, Scope.Scope> =>
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

/**
 * SQLSTATEs of data that does not fit (22), violated constraints (23), values that are too large for an index (54), deadlocks and conflicts with other
 * transactions (40P01, 40001), and of what took too long: a lock (55P03) or the statement (57014).
 */
const refusals = /^(22...|23...|54...|40P01|40001|55P03|57014)$/

/** Whether the server refused or ended a query, so that nothing of it was written. */
export const isRefused = (defect: unknown): boolean =>
  SqlError.isSqlError(defect) &&
  refusals.test(String((defect.reason.cause as { readonly code?: unknown } | null)?.code))

// The connection of a transaction that can pause: a pause commits and releases the connection of the pool, and afterwards
// begins again on another one. `sql.withTransaction` would hold one connection from BEGIN to COMMIT.

type Connection = SqlConnection.Connection

type Restore = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

interface Session {
  readonly connection: Connection
  readonly scope: Scope.Closeable
}

const commitFailed = new SqlError.SqlError({
  reason: new SqlError.UnknownError({ cause: undefined, message: "COMMIT rolled back a failed transaction" })
})

/** PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK. */
export const commit = (connection: Connection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.filterOrFail(
    connection.executeRaw("COMMIT", []),
    (result) => (result as { readonly command?: unknown } | undefined)?.command !== "ROLLBACK",
    () => commitFailed
  ).pipe(Effect.asVoid)

const rollback = (connection: Connection) => connection.executeRaw("ROLLBACK", [])

/** Its statements run on the connection of the pool that it holds at the moment. */
class PausableConnection implements Connection {
  /** What the connection counts against while it is held. */
  readonly share: ConnectionShare | undefined
  private readonly sql: SqlClient.SqlClient
  private readonly beforePause: Effect.Effect<void>
  private session: Session | undefined
  /** Runs the transaction; inside of it, runs a savepoint. */
  readonly withTransaction: SqlClient.SqlClient["withTransaction"]

  constructor(sql: SqlClient.SqlClient, share: ConnectionShare | undefined, beforePause: Effect.Effect<void>) {
    this.sql = sql
    this.share = share
    this.beforePause = beforePause
    const control = (statement: string) => Effect.asVoid(this.executeRaw(statement, []))
    this.withTransaction = SqlClient.makeWithTransaction<SqlClient.TransactionConnection, Connection>({
      transactionService: sql.transactionService,
      spanAttributes: [],
      acquireConnection: (restore) => Effect.as(this.begin(restore), this),
      begin: () => Effect.void,
      savepoint: (_, id) => control(`SAVEPOINT effect_sql_${id}`),
      releaseSavepoint: (_, id) => control(`RELEASE SAVEPOINT effect_sql_${id}`),
      rollbackSavepoint: (_, id) => control(`ROLLBACK TO SAVEPOINT effect_sql_${id}`),
      commit: () => this.end(commit),
      rollback: () => this.end(rollback)
    })
  }

  /**
   * Runs `work` while no connection is held. What the transaction did before is committed, after `beforePause`; it must not
   * have written, because a failure of `work` could not roll that back.
   */
  pause<A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen({ self: this }, function* () {
        yield* restore(Effect.andThen(this.refuseWrites, this.beforePause))
        yield* Effect.orDie(this.end(commit))
        const exit = yield* Effect.exit(restore(work))
        if (!Exit.hasInterrupts(exit)) yield* Effect.orDie(this.begin(restore))
        return yield* exit
      })
    )
  }

  private readonly refuseWrites = Effect.gen({ self: this }, function* () {
    const [row] = yield* this.executeValues("SELECT pg_current_xact_id_if_assigned() IS NULL", [])
    if (row?.[0] !== true) throw new Error("a transaction that has written cannot pause")
  }).pipe(Effect.orDie)

  private begin(restore: Restore): Effect.Effect<void, SqlError.SqlError> {
    return Effect.gen({ self: this }, function* () {
      const scope = yield* Scope.make()
      const reserve = Effect.andThen(takeConnection(this.share), this.sql.reserve)
      const connection = yield* restore(Scope.provide(reserve, scope)).pipe(
        Effect.tap((connection) => connection.executeRaw("BEGIN", [])),
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
      this.session = { connection, scope }
    })
  }

  /** Does nothing while the transaction is paused. */
  private end(how: (connection: Connection) => Effect.Effect<unknown, SqlError.SqlError>) {
    return Effect.suspend(() => {
      if (this.session === undefined) return Effect.void
      const { connection, scope } = this.session
      this.session = undefined
      return Effect.asVoid(Effect.onExit(how(connection), (exit) => Scope.close(scope, exit)))
    })
  }

  private get connection(): Connection {
    if (this.session === undefined) throw new Error("a statement runs in a transaction that is paused")
    return this.session.connection
  }

  execute: Connection["execute"] = (...args) => Effect.suspend(() => this.connection.execute(...args))
  executeRaw: Connection["executeRaw"] = (...args) => Effect.suspend(() => this.connection.executeRaw(...args))
  executeStream: Connection["executeStream"] = (...args) => this.connection.executeStream(...args)
  executeValues: Connection["executeValues"] = (...args) => Effect.suspend(() => this.connection.executeValues(...args))
  executeValuesUnprepared: Connection["executeValuesUnprepared"] = (...args) =>
    Effect.suspend(() => this.connection.executeValuesUnprepared(...args))
  executeUnprepared: Connection["executeUnprepared"] = (...args) =>
    Effect.suspend(() => this.connection.executeUnprepared(...args))
}

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
        return holdShare(orDie(withTransaction(self)))
      })
)

/** Runs an effect in a new transaction that `outside` pauses. `beforePause` is the last part of it before each pause. */
export const makePausable = Effect.map(
  SqlClient.SqlClient,
  (sql) =>
    <A, E, R>(self: Effect.Effect<A, E, R>, beforePause: Effect.Effect<void>): Effect.Effect<A, E, R> =>
      Effect.flatMap(CurrentShare, (share) =>
        orDie(new PausableConnection(sql, share, beforePause).withTransaction(withShare(undefined)(self)))
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
        const underShare = withShare(connection.share)(work)
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

// Repeats a transaction that PostgreSQL ended to resolve a deadlock.

/** Each deadlock ends one transaction, so another one has made progress. */
const retries = 5

const isDeadlock = (defect: unknown): boolean => SqlError.isSqlError(defect) && defect.reason._tag === "DeadlockError"

class Deadlocked {
  readonly _tag = "Deadlocked"
  readonly defect: unknown
  constructor(defect: unknown) {
    this.defect = defect
  }
}

/** `transaction` has to begin a transaction of its own. Apart from deadlocks, failures and defects stay as they are. */
export const retryDeadlock = <A, E, R>(transaction: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  transaction.pipe(
    Effect.catchDefect((defect) => (isDeadlock(defect) ? Effect.fail(new Deadlocked(defect)) : Effect.die(defect))),
    Effect.retry({ while: (error) => error instanceof Deadlocked, schedule: Schedule.recurs(retries) }),
    Effect.catchIf(
      (error): error is Deadlocked => error instanceof Deadlocked,
      ({ defect }) => Effect.die(defect)
    )
  ) as Effect.Effect<A, E, R>

// A queue in front of a row's lock. PostgreSQL gives a shared lock of a row at once while others share it, so a change of the row waits as long
// as shared locks overlap: for seconds, if ten callers hold one for 5 ms each (ADR 0025). Advisory locks are given in the order of requests:
// a shared lock of the row comes after `shared` or `trying`, and a change that would have to wait for the row waits for `exclusive` before it.

/** Keeps the keys apart from other advisory locks, which hash texts with the seed 0. */
const seed = "1"

/** `number`: identifies the row, and is never used again. */
const key = (sql: SqlClient.SqlClient, number: Statement.Fragment) =>
  sql`hashint8extended(${number}, ${sql.literal(seed)})`

/** An expression that waits until no change waits for the row. Its lock is kept until the transaction ends. */
export const sharedTurn = (sql: SqlClient.SqlClient, number: Statement.Fragment) =>
  sql`pg_advisory_xact_lock_shared(${key(sql, number)})`

/** The same as a condition that does not wait: false if a change waits for the row. */
export const tryTurn = (sql: SqlClient.SqlClient, number: Statement.Fragment) =>
  sql`pg_try_advisory_xact_lock_shared(${key(sql, number)})`

/** An expression that waits for the transactions that share the row, while later ones wait for it. Its lock is kept until the transaction ends. */
export const exclusiveTurn = (sql: SqlClient.SqlClient, number: Statement.Fragment) =>
  sql`pg_advisory_xact_lock(${key(sql, number)})`
