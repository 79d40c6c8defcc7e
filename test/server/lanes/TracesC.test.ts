// Traces C1 to C10 of the model check, in the driver and the ledger.
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql"
import { layerEach } from "../../../testkit/layerEach.ts"
import { TransactionId } from "../../../src/domain/transaction/EvmTransaction.ts"
import { TransactionsRepo } from "../../../src/server/ledger/TransactionsRepo.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { account, eventsOf, insert, ledger } from "../ledger/Fixtures.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

layerEach(ledger)("C1: a node whose head is below the block of a transaction", (it) => {
  it.effect("does not undo it", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      world.chain.mine()
      yield* world.poll()
      const [node] = world.nodes
      if (node !== undefined) node.lag = 1
      yield* world.poll(2)
      assert.strictEqual((yield* world.transaction(id)).state, "mined")
      if (node !== undefined) node.lag = 0
      yield* Scenes.finish(world)
      assert.notInclude(yield* eventsOf(id), "transaction.reorged")
    })
  )
})

layerEach(ledger)("C2: what a relayer holds back", (it) => {
  it.effect("does not hide the transactions of other relayers of the lane, however many it has", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      yield* world.accept(200)
      const other = { ...account(2), address: world.account.address, chain: world.account.chain }
      const [id] = yield* insert(other, 1)
      world.relayer = { ...world.relayer, paused: true }
      yield* world.poll()
      const { pending, pendingCount } = yield* world.contents
      assert.strictEqual(pendingCount, 201)
      assert.isTrue(pending.some((row) => row.id === id))
    })
  )
})

layerEach(ledger)("C3: a transaction without funds", (it) => {
  it.effect("fails ten minutes after the last one in flight, and the ledger knows since when it waits", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.sent()
      world.chain.balance = 0n
      const [id] = yield* world.accept()
      yield* world.poll()
      yield* TestClock.adjust("10 minutes")
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).cause?.code, "insufficient_funds", "one is in flight")
      world.chain.mine(4)
      yield* world.poll(2)
      yield* TestClock.adjust("9 minutes")
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).state, "pending")
      yield* TestClock.adjust("1 minute")
      yield* world.poll()
      const { cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code], ["failed", "insufficient_funds"])
    })
  )
})

layerEach(ledger)("C4: a no-op of an account with code", (it) => {
  it.effect("gets the gas of an estimate, and ends the transaction even if it is reverted", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ network: { transaction_window: 1 } })
      world.chain.code = `0xef0100${"11".repeat(20)}`
      yield* world.claim
      yield* (yield* Ledger).cancel(1, id)
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).attempts.at(-1)?.gasLimit, 36_000n)
      world.chain.mine(1, { isSuccess: false })
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "canceled")
    })
  )
})

layerEach(ledger)("C6: a pending transaction", (it) => {
  it.effect("ends at its deadline although its relayer is paused", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      // So many that the last one is not among those that a step reads.
      yield* world.accept(100)
      const [id] = yield* world.accept(1, { validUntil: 1500 })
      world.relayer = { ...world.relayer, paused: true }
      const next = yield* world.poll()
      assert.deepStrictEqual(next, { _tag: "Wait", until: 1500 })
      yield* world.poll()
      const { cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code], ["expired", "deadline_passed"])
    })
  )
})

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
      const { lock } = yield* TransactionsRepo.pipe(Effect.provide(TransactionsRepo.layer))
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

layerEach(ledger)("C10: the window of a lane", (it) => {
  it.effect("counts what is in flight, not the distance of the next nonce from the chain's count", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ network: { transaction_window: 2 } })
      yield* world.accept(3)
      yield* world.poll()
      assert.lengthOf((yield* world.contents).inFlight, 2)
      yield* Scenes.finish(world)
      // The count falls to 0, three below the next nonce, and nothing is in flight.
      const [id] = yield* world.accept()
      world.chain.reorg(world.chain.blocks.length - 2)
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).nonce, 3)
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )
})
