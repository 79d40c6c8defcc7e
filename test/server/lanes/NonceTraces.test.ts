// Traces of the model check in the driver, about the count of the chain: gaps below the next nonce, and counts that rise or fall.
import { nonceOf } from "../../../src/networks/evm/rules/Evm.ts"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const { receiver } = World

layerEach(memory)("B5: a count", (it) => {
  it.effect("of a foreign transaction that a reorganisation drops leaves a hole, which a no-op fills", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      world.chain.include([{ bytes: yield* world.foreign(0), isSuccess: true }])
      const [id] = yield* world.accept()
      yield* world.poll()
      assert.strictEqual(nonceOf(yield* world.transaction(id)), 1)
      world.chain.reorg(2)
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )

  it.effect("above the next nonce is not believed at once from one provider, and not with the head unchanged", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed()
      const [node] = world.nodes
      yield* world.accept(1, { notBefore: 60_000 })
      node?.lies.set("eth_getTransactionCount", ([, tag]) =>
        tag === "latest" ? { _tag: "Result", value: "0x4" } : undefined
      )
      yield* world.poll(2)
      assert.strictEqual((yield* world.lane).nextNonce, 1)
      world.chain.mine()
      yield* world.poll()
      assert.strictEqual((yield* world.lane).nextNonce, 4)
    })
  )

  it.effect("far above the next nonce waits with both numbers for an operator, who confirms it", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed({ network: { transaction_window: 2 } })
      yield* world.accept(1, { notBefore: 3_600_000 })
      for (const nonce of [1, 2, 3, 4]) {
        world.chain.include([{ bytes: yield* world.foreign(nonce), isSuccess: true }])
      }
      yield* world.poll()
      world.chain.mine()
      yield* world.poll()
      const [id] = yield* world.accept()
      yield* world.poll()
      const { cause, state } = yield* world.transaction(id)
      assert.strictEqual(state, "pending")
      assert.deepStrictEqual(cause, { code: "nonce_ahead", figures: { count: 5, next_nonce: 1 } })
      // The next process knows only what the ledger has.
      yield* world.claim
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).cause?.code, "nonce_ahead")
      yield* Effect.flatMap(Ledger, (ledger) => ledger.resync(world.account, {}))
      world.chain.mine()
      yield* world.poll()
      assert.strictEqual(nonceOf(yield* world.transaction(id)), 5)
      yield* Scenes.finish(world, 1)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )

  it.effect("above the next nonce is not believed if a second provider has a lower one", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed({ providers: 2 })
      const [id] = yield* world.accept()
      const [node] = world.nodes
      node?.lies.set("eth_getTransactionCount", ([, tag]) =>
        tag === "latest" ? { _tag: "Result", value: "0x4" } : undefined
      )
      world.chain.mine()
      yield* world.poll(3)
      assert.strictEqual((yield* world.lane).nextNonce, 1)
      // The other provider is asked first from here on.
      yield* world.poll()
      assert.strictEqual(nonceOf(yield* world.transaction(id)), 1)
    })
  )
})

layerEach(memory)("B10: a successor", (it) => {
  it.effect("sees that the block of the known count is gone, and fills the hole that it left", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed({ providers: 2 })
      const [open] = yield* world.accept()
      world.chain.include([{ bytes: yield* world.foreign(1), isSuccess: true }])
      yield* world.poll()
      const { chainNonce } = yield* world.lane
      assert.deepStrictEqual([chainNonce, nonceOf(yield* world.transaction(open))], [2, 2])
      world.chain.reorg(1)
      yield* world.claim
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(open)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 2)
    })
  )
})
