// Database clients that interfere with the statements of a repository, for tests of what happens between them.
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, SqlError } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import { commit } from "../src/sql/Transaction.ts"

/** Runs `before` each time before a statement that contains `part`. */
export const beforeStatement = (
  sql: SqlClient.SqlClient,
  part: string,
  before: Effect.Effect<unknown>
): SqlClient.SqlClient =>
  new Proxy(sql, {
    apply: (target, self, parts: [TemplateStringsArray, ...ReadonlyArray<unknown>]) => {
      const statement: Effect.Effect<ReadonlyArray<unknown>> = Reflect.apply(target, self, parts)
      return parts[0].join("").includes(part) ? Effect.andThen(before, statement) : statement
    },
    get: (target, key) =>
      key === "withoutTransforms"
        ? () => beforeStatement(target.withoutTransforms(), part, before)
        : Reflect.get(target, key)
  })

/** Runs `after` each time after a transaction has been committed. */
export const afterTransaction = (sql: SqlClient.SqlClient, after: Effect.Effect<unknown>): SqlClient.SqlClient =>
  new Proxy(sql, {
    get: (target, key) => {
      if (key === "withoutTransforms") return () => afterTransaction(target.withoutTransforms(), after)
      if (key !== "withTransaction") return Reflect.get(target, key)
      return <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.tap(target.withTransaction(self), () => after)
    }
  })

/**
 * What happens at a statement. `refused`: it fails and has no effect. `lost`: it has its effect, and its answer is lost. `interrupted`:
 * the fiber that runs it is interrupted, as when the client of a request is gone; what cannot be interrupted goes on until its end.
 */
export type Fault = "refused" | "lost" | "interrupted"

export const faults: ReadonlyArray<Fault> = ["refused", "lost", "interrupted"]

export interface Planned {
  /** The position of a statement, counted from 1, or a part of its text. */
  readonly at: number | string
  readonly fault: Fault
}

/** Counts statements, and interferes with one of them. */
export class Interference {
  /** Statements since `begin`. */
  count = 0
  /** The statement that was interfered with. */
  hit: string | undefined
  private planned: Planned | undefined

  /** Counts from 1 again. Absent: interferes with no statement. */
  begin(planned?: Planned): void {
    this.count = 0
    this.hit = undefined
    this.planned = planned
  }

  next(statement: string): Fault | undefined {
    this.count += 1
    if (this.planned === undefined || this.hit !== undefined) return undefined
    const { at, fault } = this.planned
    if (typeof at === "number" ? at !== this.count : !statement.includes(at)) return undefined
    this.hit = statement
    return fault
  }
}

const brokenConnection = new SqlError.SqlError({
  reason: new SqlError.ConnectionError({ cause: new Error("of the test"), message: "the connection is broken" })
})

/** These end what the connection has begun: without their effect it would go back into the pool in the middle of a transaction. */
const isEnd = (statement: string) => /^(ROLLBACK|RELEASE)/.test(statement)

/**
 * Whether PostgreSQL rolls back what the connection has begun: nobody else would, and the connection would go back into the pool in the middle
 * of a transaction. A pool drops a connection that is really lost, and PostgreSQL rolls its transaction back.
 */
const isUndone = (statement: string, fault: Fault) =>
  fault === "refused" ? statement === "COMMIT" : statement.startsWith("BEGIN")

const interfering = (connection: SqlConnection.Connection, interference: Interference): SqlConnection.Connection => {
  const around = <A>(
    statement: string,
    run: Effect.Effect<A, SqlError.SqlError>
  ): Effect.Effect<A, SqlError.SqlError> =>
    Effect.suspend(() => {
      const fault = interference.next(statement)
      if (fault === undefined) return run
      if (fault === "interrupted") {
        return Effect.withFiber((fiber) => {
          fiber.interruptUnsafe()
          return Effect.andThen(Effect.yieldNow, run)
        })
      }
      const done = fault === "lost" || isEnd(statement) ? run : Effect.void
      const ended = isUndone(statement, fault) ? Effect.andThen(done, connection.executeRaw("ROLLBACK", [])) : done
      return Effect.andThen(ended, Effect.fail(brokenConnection))
    })
  return {
    execute: (sql, params, transform) => around(sql, connection.execute(sql, params, transform)),
    executeRaw: (sql, params) => around(sql, connection.executeRaw(sql, params)),
    executeStream: (sql, params, transform) => connection.executeStream(sql, params, transform),
    executeValues: (sql, params) => around(sql, connection.executeValues(sql, params)),
    executeValuesUnprepared: (sql, params) => around(sql, connection.executeValuesUnprepared(sql, params)),
    executeUnprepared: (sql, params, transform) => around(sql, connection.executeUnprepared(sql, params, transform))
  }
}

/** A client like that of a host program, which cannot listen: all of its statements can be interfered with, `BEGIN` and `COMMIT` too. */
export const layerInterfering = (config: PgClient.PgPoolConfig, interference: Interference) =>
  Layer.effect(
    SqlClient.SqlClient,
    Effect.gen(function* () {
      const { reserve, driver } = yield* PgClient.make(config)
      const acquirer = Effect.map(reserve, (connection) => interfering(connection, interference))
      return yield* SqlClient.make({
        acquirer,
        transactionAcquirer: acquirer,
        compiler: PgClient.makeCompiler(),
        driver,
        spanAttributes: [],
        prepareTransactionControls: true,
        commit,
        releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`
      })
    })
  ).pipe(Layer.provide(Reactivity.layer))
