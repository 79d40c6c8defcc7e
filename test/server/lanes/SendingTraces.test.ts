// Traces of the model check in the driver, about which bytes are signed and sent, and at which price.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"
import { gwei } from "./fake/Chain.ts"

const { receiver } = World

layerEach(memory)("B7: a newer version", (it) => {
  it.effect("is signed once, at the same nonce, and is what is executed", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      yield* (yield* Ledger).replace(1, id, { to: receiver, value: 2n, gas_limit: 21_000n })
      yield* world.poll(3)
      yield* Scenes.finish(world)
      const { attempts, nonce, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, nonce], ["confirmed", 0])
      assert.deepStrictEqual(
        attempts.map(({ kind, requestVersion }) => [kind, requestVersion]),
        [
          ["original", 1],
          ["replace", 2]
        ]
      )
      assert.deepStrictEqual([world.chain.effects(receiver), world.chain.effects(receiver, 2n)], [0, 1])
    })
  )
})

layerEach(memory)("B12: bytes that nodes refuse", (it) => {
  it.effect("leave the older ones of the request, which are sent if they left the pool", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      const [original] = world.chain.sent.keys()
      world.chain.baseFee = 40n * gwei
      for (let block = 0; block < 7; block++) {
        world.chain.include([])
        yield* world.poll()
      }
      const bumped = yield* world.transaction(id)
      assert.strictEqual(bumped.attempts.at(-1)?.kind, "bump")
      world.chain.forget()
      world.chain.balance = 10n ** 15n
      yield* TestClock.adjust("1 minute")
      yield* world.poll(4)
      assert.deepStrictEqual(
        [...world.chain.pool.values()].map(({ hash }) => hash),
        [original]
      )
      world.chain.mine(4)
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).mined?.ordinal, 1)
    })
  )
})
