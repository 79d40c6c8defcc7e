// Traces of the model check in the driver, about blocks: what is mined is found, however late, and what a reorganisation drops is sent again.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import { eventsOf, memory } from "../ledger/Fixtures.ts"
import { grow } from "../../../src/testkit/chain/Blocks.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const { receiver } = World

layerEach(memory)("A1: a process that was away", (it) => {
  it.effect("finds what was mined meanwhile, and does not settle the nonce before", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      world.chain.mine(6)
      yield* world.claim
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      yield* world.accept()
      assert.strictEqual((yield* world.lane).settledNonce, 0)
      yield* world.poll()
      assert.strictEqual((yield* world.lane).settledNonce, 1)
      yield* Scenes.finish(world)
      assert.strictEqual(world.chain.effects(receiver), 2)
    })
  )
})

layerEach(memory)("A5: a reverted receipt", (it) => {
  it.effect("is forgotten when its block is gone", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      const bytes = world.chain.pool.get(0)
      world.chain.mine(1, { isSuccess: false })
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).cause?.code, "reverted_unconfirmed")
      world.chain.reorg(1)
      if (bytes !== undefined) world.chain.include([{ bytes, isSuccess: true }])
      world.chain.mine(4)
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )
})

layerEach(memory)("A7: a provider on a dead fork", (it) => {
  it.effect("does not end a transaction, however deep it has it", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ providers: 2 })
      const [first] = world.nodes
      const bytes = world.chain.pool.get(0)
      if (first === undefined || bytes === undefined) return assert.fail("nothing was sent")
      let fork = grow(world.chain.blocks, [{ bytes, isSuccess: true }])
      for (let more = 0; more < 6; more++) fork = grow(fork)
      first.fork = fork
      world.chain.forget()
      world.chain.mine(8)
      yield* world.poll(4)
      assert.strictEqual((yield* world.transaction(id)).state, "mined")
      first.fork = undefined
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )
})

layerEach(memory)("B4: a reverted transaction", (it) => {
  it.effect("ends when its block is deep", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      world.chain.mine(1, { isSuccess: false })
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).cause?.code, "reverted_unconfirmed")
      yield* Scenes.finish(world)
      const { cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code], ["failed", "reverted"])
    })
  )
})

layerEach(memory)("B13: a reorganisation that is too deep", (it) => {
  it.effect("has a final transaction sent again, is published, and lets those behind it go on", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.confirmed()
      const [behind] = yield* world.accept()
      yield* world.poll()
      world.chain.reorg(4)
      yield* world.poll()
      assert.strictEqual((yield* world.contents).stored.code, "deep_reorg")
      assert.include(yield* eventsOf(id), "transaction.reorged_final")
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual((yield* world.transaction(behind)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 2)
    })
  )
})

layerEach(memory)("C1: a node whose head is below the block of a transaction", (it) => {
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
