// Traces B3 to B13 of the model check, in the driver: what stops a lane, or waits without a code, without them.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { eventsOf, ledger } from "../ledger/Fixtures.ts"
import { gwei } from "./fake/Chain.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const { receiver } = World
const call = { to: receiver, value: 0n, data: "0x23b872dd" }
const reverts = { _tag: "RpcError", code: 3, message: "execution reverted" } as const

layerEach(ledger)("B3: a no-op that a node swallowed after the deadline", (it) => {
  it.effect("is missed in the pool and sent again", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept(1, { validUntil: 2500 })
      yield* world.poll(2)
      const [node] = world.nodes
      node?.lies.set("eth_sendRawTransaction", () => ({ _tag: "Result", value: "0x00" }))
      yield* world.poll(2)
      node?.lies.clear()
      world.chain.pool.clear()
      yield* Scenes.finish(world)
      const { attempts, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, attempts.at(-1)?.kind], ["expired", "noop"])
      assert.isAbove(attempts.at(-1)?.sends ?? 0, 1)
      assert.strictEqual(world.chain.effects(receiver), 0)
    })
  )
})

layerEach(ledger)("B4: a reverted transaction", (it) => {
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

layerEach(ledger)("B5: a count", (it) => {
  it.effect("of a foreign transaction that a reorganisation drops leaves a hole, which a no-op fills", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      world.chain.include([{ bytes: yield* world.foreign(0), isSuccess: true }])
      const [id] = yield* world.accept()
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).nonce, 1)
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
      assert.strictEqual((yield* world.transaction(id)).nonce, 5)
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
      assert.strictEqual((yield* world.transaction(id)).nonce, 1)
    })
  )
})

layerEach(ledger)("B6: a transaction that every node refuses for good", (it) => {
  it.effect("is cleared by a no-op", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [id] = yield* world.accept()
      const refusal = { _tag: "RpcError", code: -32000, message: "oversized data" } as const
      for (const { lies } of world.nodes) lies.set("eth_sendRawTransaction", () => refusal)
      yield* world.poll()
      for (const { lies } of world.nodes) lies.clear()
      yield* Scenes.finish(world)
      const { attempts, cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code, attempts.at(-1)?.kind], ["failed", "refused_by_all", "noop"])
    })
  )
})

layerEach(ledger)("B7: a newer version", (it) => {
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

layerEach(ledger)("B10: a successor", (it) => {
  it.effect("sees that the block of the known count is gone, and fills the hole that it left", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed({ providers: 2 })
      const [open] = yield* world.accept()
      world.chain.include([{ bytes: yield* world.foreign(1), isSuccess: true }])
      yield* world.poll()
      const { chainNonce } = yield* world.lane
      assert.deepStrictEqual([chainNonce, (yield* world.transaction(open)).nonce], [2, 2])
      world.chain.reorg(1)
      yield* world.claim
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(open)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 2)
    })
  )
})

layerEach(ledger)("B11: a call that reverts", (it) => {
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

layerEach(ledger)("B12: bytes that nodes refuse", (it) => {
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
      world.chain.pool.clear()
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

layerEach(ledger)("B13: a reorganisation that is too deep", (it) => {
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
