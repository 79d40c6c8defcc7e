// Traces of the model check in the driver, about transactions that wait for their nonce: their order, and what holds them.
import { nonceOf } from "../../../src/networks/evm/rules/Evm.ts"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { layerEach } from "../../../testkit/layerEach.ts"
import { accept, account } from "../../../testkit/LedgerRows.ts"
import { ledger, memory } from "../ledger/Fixtures.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const { receiver } = World

const call = { to: receiver, value: 0n, data: "0x23b872dd" }

const reverts = { _tag: "RpcError", code: 3, message: "execution reverted" } as const

layerEach(memory)("B11: a call that reverts", (it) => {
  it.effect("behind another one of its batch is estimated again after that one, and does not fail", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [node] = world.nodes
      let estimates = 0
      node?.lies.set("eth_estimateGas", () => (++estimates > 1 && world.chain.blocks.length < 7 ? reverts : undefined))
      const [first] = yield* world.accept(1, { request: call })
      const [second] = yield* world.accept(1, { request: { ...call, data: "0x23b872dd00" } })
      yield* world.poll(2)
      assert.strictEqual((yield* world.transaction(first)).state, "submitted")
      assert.strictEqual((yield* world.transaction(second)).cause?.code, "waits_for_predecessors")
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(second)).state, "confirmed")
    })
  )

  it.effect("at one provider only does not fail", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [node] = world.nodes
      node?.lies.set("eth_estimateGas", () => reverts)
      const [id] = yield* world.accept(1, { request: call })
      yield* world.poll(2)
      const held = yield* world.transaction(id)
      assert.deepStrictEqual([held.state, held.cause?.code], ["pending", "providers_unavailable"])
    })
  )
})

layerEach(ledger)("C2: what a relayer holds back", (it) => {
  it.effect("does not hide the transactions of other relayers of the lane, however many it has", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      yield* world.accept(200)
      const other = { ...account(2), address: world.account.address, chain: world.account.chain }
      const [id] = yield* accept(other, 1)
      world.relayer = { ...world.relayer, paused: true }
      yield* world.poll()
      const { pending, pendingCount } = yield* world.contents
      assert.strictEqual(pendingCount, 201)
      assert.isTrue(pending.some((row) => row.id === id))
    })
  )
})

layerEach(memory)("C3: a transaction without funds", (it) => {
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

layerEach(memory)("C6: a pending transaction", (it) => {
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

layerEach(memory)("C10: the window of a lane", (it) => {
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
      assert.strictEqual(nonceOf(yield* world.transaction(id)), 3)
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )
})
