// Traces of the model check in the driver, about the tables: rows that they refuse, and the order of locks.
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { layerEach } from "../../../testkit/layerEach.ts"
import { account, insert } from "../../../testkit/LedgerRows.ts"
import { ledger } from "../ledger/Fixtures.ts"
import { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import * as TransactionsRepo from "../../../src/server/ledger/TransactionsRepo.ts"
import * as Scenes from "./fake/Scenes.ts"

layerEach(ledger)("C8: the tables refuse", (it) => {
  it.effect("a signed or final transaction without a nonce, and counters in a wrong order", () =>
    Effect.gen(function* () {
      const { id } = yield* Scenes.sent()
      const sql = yield* SqlClient.SqlClient
      const wrong = [
        sql`UPDATE transactions SET nonce = NULL WHERE id = ${id}`,
        sql`UPDATE transactions SET state = 'pending' WHERE id = ${id}`,
        sql`UPDATE transactions SET state = 'confirmed', final_at = now() WHERE id = ${id}`,
        sql`UPDATE transactions SET final_at = now() WHERE id = ${id}`,
        sql`UPDATE lanes SET settled_nonce = chain_nonce + 1`,
        sql`UPDATE lanes SET chain_nonce = next_nonce + 1`,
        sql`UPDATE lanes SET window_size = 0`
      ]
      for (const statement of wrong) assert.isTrue(yield* Effect.isFailure(statement))
    })
  )
})

layerEach(ledger)("C9: a statement about several transactions", (it) => {
  it.effect("locks them in the order of their numbers, whatever the order of the ids or of the table", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { lock } = yield* TransactionsRepo.make
      const [first = "", second = "", third = ""] = yield* insert(account(1), 3)
      // Its row moves behind the others.
      yield* sql`UPDATE transactions SET priority = 1 WHERE id = ${first}`
      const ids = [third, second, first].map((id) => TransactionId.make(id))
      const isWaiting = sql`
        SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      const isFree = (id: string) =>
        Effect.isSuccess(sql.withTransaction(sql`SELECT 1 FROM transactions WHERE id = ${id} FOR UPDATE NOWAIT`))
      const held = yield* Deferred.make<void>()
      const released = yield* Deferred.make<void>()
      const holding = sql`SELECT 1 FROM transactions WHERE id = ${second} FOR UPDATE`.pipe(
        Effect.andThen(Deferred.succeed(held, undefined)),
        Effect.andThen(Deferred.await(released))
      )
      yield* Effect.forkScoped(sql.withTransaction(holding))
      yield* Deferred.await(held)
      const locking = yield* Effect.forkScoped(sql.withTransaction(lock(ids)))
      yield* Effect.repeat(isWaiting, { until: (rows) => rows.length > 0 })
      assert.isFalse(yield* isFree(first))
      assert.isTrue(yield* isFree(third))
      yield* Deferred.succeed(released, undefined)
      assert.lengthOf(yield* Fiber.join(locking), 3)
    })
  )
})
