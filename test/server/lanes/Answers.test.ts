// What becomes of a transaction that an operator has given up: the chain decides, not the first provider.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

/** At nonce 0, which the chain has used; the first provider shows neither by what, nor a receipt. */
const unproven = Effect.gen(function* () {
  const { id, world } = yield* Scenes.sent({ providers: 2 })
  const [first, second] = world.nodes
  world.chain.mine(6)
  Scenes.hideTransactions(first, world.chain)
  if (second !== undefined) second.lag = 6
  yield* world.poll(2)
  assert.strictEqual((yield* world.transaction(id)).cause?.code, "nonce_taken_unproven")
  return { id, world, second }
})

const giveUp = (world: Effect.Success<typeof unproven>["world"]) =>
  Effect.flatMap(Ledger, (transactions) => transactions.resync(world.account, { answer: "give_up", usedBelow: 1n }))

layerEach(memory)("a transaction that an operator gives up", (it) => {
  it.effect("is confirmed if a provider has the receipt of its own bytes", () =>
    Effect.gen(function* () {
      const { id, world, second } = yield* unproven
      yield* giveUp(world)
      if (second !== undefined) second.lag = 0
      yield* world.poll(4)
      assert.notStrictEqual((yield* world.transaction(id)).state, "failed")
      world.nodes[0]?.lies.clear()
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.chain.effects(World.receiver), 1)
    })
  )

  it.effect("waits while a provider does not answer, and fails when none has a receipt", () =>
    Effect.gen(function* () {
      const { id, world, second } = yield* unproven
      yield* giveUp(world)
      if (second !== undefined) second.isAway = true
      yield* world.poll(4)
      assert.strictEqual((yield* world.transaction(id)).state, "submitted")
      if (second !== undefined) second.isAway = false
      yield* world.poll(4)
      const { state, cause } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code], ["failed", "nonce_taken_unproven"])
    })
  )
})
