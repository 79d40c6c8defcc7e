// The connection of a transaction that can pause: a pause commits and releases the connection of the pool, and afterwards
// begins again on another one. `sql.withTransaction` would hold one connection from BEGIN to COMMIT.
import { Effect, Exit, Scope } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import * as ConnectionShare from "./ConnectionShare.ts"

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
export class PausableConnection implements Connection {
  /** What the connection counts against while it is held. */
  readonly share: ConnectionShare.ConnectionShare | undefined
  private readonly sql: SqlClient.SqlClient
  private readonly beforePause: Effect.Effect<void>
  private session: Session | undefined
  /** Runs the transaction; inside of it, runs a savepoint. */
  readonly withTransaction: SqlClient.SqlClient["withTransaction"]

  constructor(
    sql: SqlClient.SqlClient,
    share: ConnectionShare.ConnectionShare | undefined,
    beforePause: Effect.Effect<void>
  ) {
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
      const reserve = Effect.andThen(ConnectionShare.take(this.share), this.sql.reserve)
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
