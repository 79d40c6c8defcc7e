// Transactions that release their connection while they wait for work outside of the database.
import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import * as Transaction from "../../src/sql/Transaction.ts"
import { clientConfig } from "../../testkit/Postgres.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"

/** A pool of one connection, so that a transaction that holds it blocks all others. */
const one = Layer.unwrap(
  Effect.map(TestDatabase.make, (name) =>
    PgClient.layer({ ...clientConfig(inject("postgres"), name), maxConnections: 1 })
  )
)

const table = Layer.effectDiscard(
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`CREATE TABLE notes (text text NOT NULL UNIQUE)`)
)

const setUp = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM notes`
  return {
    sql,
    outside: yield* Transaction.outside,
    transaction: yield* Transaction.make,
    pausable: yield* Transaction.makePausable,
    add: (text: string) => Effect.orDie(sql`INSERT INTO notes (text) VALUES (${text})`),
    all: Effect.orDie(
      Effect.map(sql<{ text: string }>`SELECT text FROM notes ORDER BY text`, (rows) => rows.map(({ text }) => text))
    )
  }
})

const defectOf = (exit: Exit.Exit<unknown, unknown>) => (Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "")

layer(Layer.provideMerge(table, one))("a pausable transaction", (it) => {
  it.effect("holds no connection while work runs outside", () =>
    Effect.gen(function* () {
      const { pausable, outside, add, all } = yield* setUp
      const seen = yield* pausable(
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* all, [])
          const seen = yield* outside(Effect.andThen(add("by work"), all))
          yield* add("after")
          return seen
        }),
        add("before the pause")
      )
      assert.deepStrictEqual(seen, ["before the pause", "by work"])
      assert.deepStrictEqual(yield* all, ["after", "before the pause", "by work"])
    })
  )

  it.effect("commits all statements after the work, or none", () =>
    Effect.gen(function* () {
      const { pausable, transaction, outside, add, all } = yield* setUp
      const failed = Effect.gen(function* () {
        yield* outside(Effect.void)
        yield* add("first")
        yield* transaction(add("in a savepoint"))
        return yield* Effect.fail("refused")
      })
      assert.strictEqual(yield* Effect.flip(pausable(failed, Effect.void)), "refused")
      assert.deepStrictEqual(yield* all, [])
    })
  )

  it.effect("can roll back only a savepoint", () =>
    Effect.gen(function* () {
      const { pausable, transaction, outside, add, all } = yield* setUp
      const self = Effect.gen(function* () {
        yield* outside(Effect.void)
        yield* add("kept")
        yield* Effect.ignore(transaction(Effect.andThen(add("rolled back"), Effect.fail("refused"))))
        yield* Effect.ignoreCause(transaction(add("kept")))
      })
      yield* pausable(self, Effect.void)
      assert.deepStrictEqual(yield* all, ["kept"])
    })
  )

  it.effect("continues after work that failed", () =>
    Effect.gen(function* () {
      const { pausable, outside, add, all } = yield* setUp
      const self = Effect.gen(function* () {
        const error = yield* Effect.flip(outside(Effect.fail("unreachable")))
        yield* add(error)
      })
      yield* pausable(self, Effect.void)
      assert.deepStrictEqual(yield* all, ["unreachable"])
    })
  )

  it.effect("ends when its work is interrupted", () =>
    Effect.gen(function* () {
      const { pausable, outside, add, all } = yield* setUp
      const started = yield* Deferred.make<void>()
      const work = Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      const fiber = yield* Effect.forkChild(pausable(Effect.andThen(outside(work), add("after")), add("claim")))
      yield* Deferred.await(started)
      assert.deepStrictEqual(yield* all, ["claim"])
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* all, ["claim"])
    })
  )

  it.effect("runs the actions that wait for the commit after the last commit", () =>
    Effect.gen(function* () {
      const { sql, pausable, outside, add } = yield* setUp
      const order: Array<string> = []
      const note = (text: string) => Effect.sync(() => void order.push(text))
      const self = Effect.gen(function* () {
        yield* sql.afterCommit(note("committed"))
        yield* outside(note("work"))
        yield* add("after")
        yield* note("last")
      })
      yield* pausable(self, Effect.void)
      assert.deepStrictEqual(order, ["work", "last", "committed"])
    })
  )

  it.effect("cannot pause after it has written, or in a savepoint", () =>
    Effect.gen(function* () {
      const { pausable, transaction, outside, add, all } = yield* setUp
      const written = yield* Effect.exit(pausable(Effect.andThen(add("before"), outside(Effect.void)), Effect.void))
      assert.include(defectOf(written), "a transaction that has written cannot pause")
      const nested = yield* Effect.exit(pausable(transaction(outside(Effect.void)), Effect.void))
      assert.include(defectOf(nested), "would hold the connection")
      assert.deepStrictEqual(yield* all, [])
    })
  )

  it.effect("fails if a statement failed and was not rolled back", () =>
    Effect.gen(function* () {
      const { pausable, add, all } = yield* setUp
      const self = Effect.andThen(
        Effect.andThen(add("twice"), Effect.ignoreCause(add("twice"))),
        Effect.succeed("done")
      )
      const exit = yield* Effect.exit(pausable(self, Effect.void))
      assert.include(defectOf(exit), "COMMIT rolled back a failed transaction")
      assert.deepStrictEqual(yield* all, [])
    })
  )
})

layer(Layer.provideMerge(table, one))("work outside of the database", (it) => {
  it.effect("is refused in a transaction that cannot pause", () =>
    Effect.gen(function* () {
      const { transaction, outside } = yield* setUp
      assert.include(defectOf(yield* Effect.exit(transaction(outside(Effect.void)))), "would hold the connection")
    })
  )

  it.effect("runs without a transaction", () =>
    Effect.gen(function* () {
      const { outside } = yield* setUp
      assert.strictEqual(yield* outside(Effect.succeed("done")), "done")
    })
  )
})
