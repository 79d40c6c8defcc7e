// Traces of the model check in the driver, about a nonce that another transaction used: what proves it, and what follows.
import { attemptNonceOf, nonceOf } from "../../../src/networks/evm/rules/Evm.ts"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import { grow } from "../../../src/testkit/chain/Blocks.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const { receiver } = World

layerEach(memory)("A2: a nonce", (it) => {
  it.effect("is not proven taken by the silence of one provider", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ providers: 2 })
      const [first, second] = world.nodes
      world.chain.mine(6)
      Scenes.hideTransactions(first, world.chain)
      if (second !== undefined) second.lag = 6
      yield* world.poll(2)
      const held = yield* world.transaction(id)
      assert.deepStrictEqual([held.state, nonceOf(held), held.cause?.code], ["submitted", 0, "nonce_taken_unproven"])
      first?.lies.clear()
      if (second !== undefined) second.lag = 0
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )

  it.effect("is not proven taken in a block that a second provider does not have", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ providers: 2 })
      const [first] = world.nodes
      let fork = grow(world.chain.blocks, [{ bytes: yield* world.foreign(0), isSuccess: true }])
      for (let more = 0; more < 4; more++) fork = grow(fork)
      if (first !== undefined) first.fork = fork
      yield* world.poll(4)
      const held = yield* world.transaction(id)
      assert.deepStrictEqual([held.state, nonceOf(held), held.cause?.code], ["submitted", 0, "nonce_taken_unproven"])
      if (first !== undefined) first.fork = undefined
      world.chain.mine(6)
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )

  it.effect("that another transaction has used gives the request the next one", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ providers: 2 })
      world.chain.include([{ bytes: yield* world.foreign(0), isSuccess: true }])
      world.chain.mine(4)
      yield* Scenes.finish(world)
      const { attempts, nonce, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, nonce, attempts.map((one) => attemptNonceOf(one))], ["confirmed", 1, [0, 1]])
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )
})
