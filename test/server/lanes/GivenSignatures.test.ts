// What a lane makes of signatures that callers got: it keeps funds for them, and does not take them for foreign transactions.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

/** Milliseconds of the test clock. */
const end = 20_000

layerEach(memory)("a signature that a caller got", (it) => {
  it.effect("keeps the fees that it can cost from other transactions until it can no longer land", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const fee = 10n ** 30n
      yield* (yield* Ledger).give(world.account, {
        hash: "0x01",
        raw: new Uint8Array([1]),
        fee,
        end: { validUntil: end }
      })
      const [id] = yield* world.accept()
      yield* world.poll(2)
      const { cause } = yield* world.transaction(id)
      assert.deepStrictEqual([cause?.code, cause?.figures.reserved], ["insufficient_funds", fee])
      yield* TestClock.adjust(end)
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )

  it.effect("keeps nothing from the first transaction of an idle lane if a block above its last height is there", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed({ providers: 2 })
      const lastHeight = world.chain.blocks.length - 1
      yield* (yield* Ledger).give(world.account, {
        hash: "0x01",
        raw: new Uint8Array([1]),
        fee: 10n ** 30n,
        end: { lastHeight }
      })
      world.chain.include([])
      yield* TestClock.adjust("1 minute")
      const [id] = yield* world.accept()
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).state, "submitted")
    })
  )

  it.effect("is no foreign transaction: no request waits because it could be that one", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed({ providers: 2 })
      const sent = yield* world.foreign(1, 1n)
      yield* (yield* Ledger).give(world.account, {
        hash: sent.hash,
        raw: new Uint8Array([1]),
        fee: 1n,
        end: { validUntil: end }
      })
      const [id] = yield* world.accept()
      world.chain.include([{ bytes: sent, isSuccess: true }])
      yield* Scenes.finish(world)
      const { state, restored, nonce } = yield* world.transaction(id)
      assert.deepStrictEqual([state, restored, nonce], ["confirmed", false, 2])
    })
  )
})
