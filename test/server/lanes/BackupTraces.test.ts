// Traces of the model check in the driver, about a database from a backup, and about a chain that begins anew.
import { nonceOf } from "../../../src/networks/evm/rules/Evm.ts"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { ledger } from "../ledger/Fixtures.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const { receiver } = World

layerEach(ledger)("A3: without a mark of the restore", (it) => {
  it.effect("a request that a transaction above the next nonce could be is not signed", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed({ providers: 2 })
      const [id] = yield* world.accept()
      world.chain.include([{ bytes: yield* world.foreign(1, 1n), isSuccess: true }])
      yield* world.poll(3)
      const held = yield* world.transaction(id)
      assert.deepStrictEqual([held.state, held.restored, held.cause?.code], ["pending", true, "restored_unproven"])
      const [other] = yield* world.accept(1, { request: { to: receiver, value: 7n, gas_limit: 21_000n } })
      yield* Scenes.finish(world, 1)
      assert.strictEqual(nonceOf(yield* world.transaction(other)), 2)
      assert.strictEqual(world.chain.effects(receiver), 2)
    })
  )

  it.effect("what took a nonce marks every request that it could be, before one of them is signed again", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      const request = { to: receiver, value: 999n, gas_limit: 21_000n }
      const [later] = yield* world.accept(1, { request, notBefore: 20_000 })
      world.chain.include([{ bytes: yield* world.foreign(0, 999n), isSuccess: true }])
      world.chain.mine(4)
      yield* world.poll(3)
      yield* TestClock.adjust("30 seconds")
      yield* Scenes.finish(world, 1)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      const held = yield* world.transaction(later)
      assert.deepStrictEqual([held.state, held.restored, held.cause?.code], ["pending", true, "restored_unproven"])
      assert.strictEqual(world.chain.effects(receiver, 999n), 1)
    })
  )
})

layerEach(ledger)("A4: a new generation", (it) => {
  it.effect("neither sends nor counts what the former one has signed", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.confirmed()
      const [open] = yield* world.accept()
      yield* world.poll()
      const transactions = yield* Ledger
      yield* transactions.beginGeneration(world.account)
      assert.strictEqual((yield* world.transaction(open)).state, "failed")
      const [next] = yield* world.accept()
      world.chain.blocks = world.chain.blocks.slice(0, 6)
      world.chain.forget()
      world.chain.sent.clear()
      const { hold } = yield* world.claim
      assert.deepStrictEqual(yield* (yield* LaneLedger).committedFrom(hold, 0n), [])
      assert.deepStrictEqual(yield* (yield* LaneLedger).finalFrom(hold, 0n), [])
      yield* Scenes.finish(world)
      const { attempts, nonce, state } = yield* world.transaction(next)
      assert.deepStrictEqual([state, nonce], ["confirmed", 0])
      assert.deepStrictEqual([...world.chain.sent.keys()], [attempts[0]?.hash])
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )
})
