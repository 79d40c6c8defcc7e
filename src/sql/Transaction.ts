// Transactions of services: all of the writes inside are committed, or none.
import { Context, Effect, Exit, Schedule, Scope } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import type { SqlConnection, Statement } from "effect/sql"
import { CurrentShare, holdShare, takeConnection, withShare } from "./Query.ts"
import type { ConnectionShare } from "./Query.ts"

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
