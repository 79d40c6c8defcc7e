// Transactions that PostgreSQL ends because of a deadlock are repeated.
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Transaction from "../../src/sql/Transaction.ts"
import { retryDeadlock } from "../../src/sql/Transaction.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"

layer(TestDatabase.layer)("two transactions that wait for each other", (it) => {
  it.effect("both succeed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const transaction = yield* Transaction.make
      yield* sql`CREATE TABLE numbers (id int PRIMARY KEY, value int NOT NULL)`
      yield* sql`INSERT INTO numbers VALUES (1, 0), (2, 0)`
      const add = (id: number) => sql`UPDATE numbers SET value = value + 1 WHERE id = ${id}`
      const one = yield* Deferred.make<void>()
      const two = yield* Deferred.make<void>()
      const both = (first: number, second: number, mine: Deferred.Deferred<void>, other: Deferred.Deferred<void>) =>
        add(first).pipe(
          Effect.andThen(Deferred.succeed(mine, undefined)),
          Effect.andThen(Deferred.await(other)),
          Effect.andThen(add(second)),
          transaction,
          retryDeadlock
        )
      yield* Effect.all([both(1, 2, one, two), both(2, 1, two, one)], { concurrency: 2 })
      assert.deepStrictEqual(
        (yield* sql<{ value: number }>`SELECT value FROM numbers`).map(({ value }) => value),
        [2, 2]
      )
    })
  )
})
