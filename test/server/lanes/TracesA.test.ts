// Traces A1 to A7 of the model check, in the driver and the ledger: what executes twice, or reports a wrong end, without them.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { ledger } from "../ledger/Fixtures.ts"
import { grow } from "./fake/Chain.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const { receiver } = World

layerEach(ledger)("A1: a process that was away", (it) => {
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

layerEach(ledger)("A2: a nonce", (it) => {
  it.effect("is not proven taken by the silence of one provider", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ providers: 2 })
      const [first, second] = world.nodes
      world.chain.mine(6)
      Scenes.hideTransactions(first, world.chain.blocks.length)
      if (second !== undefined) second.lag = 6
      yield* world.poll(4)
      const held = yield* world.transaction(id)
      assert.deepStrictEqual([held.state, held.nonce, held.cause?.code], ["submitted", 0, "nonce_taken_unproven"])
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
      assert.deepStrictEqual([held.state, held.nonce, held.cause?.code], ["submitted", 0, "nonce_taken_unproven"])
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
      assert.deepStrictEqual([state, nonce, attempts.map((one) => one.nonce)], ["confirmed", 1, [0, 1]])
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )
})

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
      assert.strictEqual((yield* world.transaction(other)).nonce, 2)
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
      world.chain.pool.clear()
      world.chain.sent.clear()
      const { hold } = yield* world.claim
      assert.deepStrictEqual(yield* (yield* LaneLedger).committedFrom(hold, 0), [])
      assert.deepStrictEqual(yield* (yield* LaneLedger).finalFrom(hold, 0), [])
      yield* Scenes.finish(world)
      const { attempts, nonce, state } = yield* world.transaction(next)
      assert.deepStrictEqual([state, nonce], ["confirmed", 0])
      assert.deepStrictEqual([...world.chain.sent.keys()], [attempts[0]?.hash])
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )
})

layerEach(ledger)("A5: a reverted receipt", (it) => {
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

layerEach(ledger)("A6: a policy that changed", (it) => {
  const forbidden = { whitelist_receivers: [] }

  it.effect("clears a nonce that has bytes, and a no-op ends the request", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      world.relayer = { ...world.relayer, policies: forbidden }
      yield* (yield* Ledger).replace(1, id, { to: receiver, value: 2n, gas_limit: 21_000n })
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).intent, "clear")
      yield* Scenes.finish(world)
      const { attempts, cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code], ["failed", "policy_changed"])
      assert.deepStrictEqual(
        attempts.map(({ kind }) => kind),
        ["original", "noop"]
      )
      assert.strictEqual(world.chain.effects(receiver) + world.chain.effects(receiver, 2n), 0)
    })
  )

  it.effect("ends a request that was executed all the same as confirmed", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      world.relayer = { ...world.relayer, policies: forbidden }
      yield* (yield* Ledger).replace(1, id, { to: receiver, value: 2n, gas_limit: 21_000n })
      const bytes = world.chain.pool.get(0)
      yield* world.poll()
      if (bytes !== undefined) world.chain.include([{ bytes, isSuccess: true }])
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )
})

layerEach(ledger)("A7: a provider on a dead fork", (it) => {
  it.effect("does not end a transaction, however deep it has it", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ providers: 2 })
      const [first] = world.nodes
      const bytes = world.chain.pool.get(0)
      if (first === undefined || bytes === undefined) return assert.fail("nothing was sent")
      let fork = grow(world.chain.blocks, [{ bytes, isSuccess: true }])
      for (let more = 0; more < 6; more++) fork = grow(fork)
      first.fork = fork
      world.chain.pool.clear()
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
