// Traces of the model check in the driver, about a nonce that a no-op uses: after a change of policy, a deadline, or a refusal by every node.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { maxFeeOf } from "../../../src/networks/evm/rules/Market.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import { gwei } from "./fake/Chain.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const { receiver } = World

layerEach(memory)("A6: a policy that changed", (it) => {
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

layerEach(memory)("B3: a no-op that a node swallowed after the deadline", (it) => {
  it.effect("is missed in the pool and sent again", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept(1, { validUntil: 2500 })
      yield* world.poll(2)
      const [node] = world.nodes
      node?.lies.set("eth_sendRawTransaction", () => ({ _tag: "Result", value: "0x00" }))
      yield* world.poll(2)
      node?.lies.clear()
      world.chain.forget()
      yield* Scenes.finish(world)
      const { attempts, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, attempts.at(-1)?.kind], ["expired", "noop"])
      assert.isAbove(attempts.at(-1)?.sends ?? 0, 1)
      assert.strictEqual(world.chain.effects(receiver), 0)
    })
  )
})

layerEach(memory)("B6: a transaction that every node refuses for good", (it) => {
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

layerEach(memory)("C4: a no-op of an account with code", (it) => {
  it.effect("gets the gas of an estimate, and ends the transaction even if it is reverted", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ network: { transaction_window: 1 } })
      world.chain.code = `0xef0100${"11".repeat(20)}`
      yield* world.claim
      yield* (yield* Ledger).cancel(1, id)
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).attempts.at(-1)?.offer.gasLimit, 36_000n)
      world.chain.mine(1, { isSuccess: false })
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "canceled")
    })
  )
})

/** Blocks that take no transaction, with a poll each. */
const emptyBlocks = Effect.fnUntraced(function* (world: Effect.Success<ReturnType<typeof World.make>>, count: number) {
  for (let block = 0; block < count; block++) {
    world.chain.include([])
    yield* world.poll()
  }
})

layerEach(memory)("V4: a transaction with given fees below the base fee", (it) => {
  const fees = { max_fee_per_gas: 2n * gwei, max_priority_fee_per_gas: gwei }
  const spike = 50n * gwei

  it.effect("yields its nonce to the one behind it, and is executed once when the base fee falls", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [low] = yield* world.accept(1, { request: { to: receiver, value: 1n, gas_limit: 21_000n, ...fees } })
      const [behind] = yield* world.accept(1, { request: { to: receiver, value: 2n, gas_limit: 21_000n } })
      yield* world.poll()
      world.chain.baseFee = spike
      yield* emptyBlocks(world, 30)
      assert.strictEqual((yield* world.transaction(low)).cause?.code, "yielding")
      yield* Scenes.finish(world, 1)
      const waiting = yield* world.transaction(low)
      assert.deepInclude(waiting, { state: "pending", intent: "execute", yields: 1, requeues: 0 })
      assert.strictEqual(waiting.cause?.code, "gas_price_below_base_fee")
      assert.isAbove(Number(waiting.paidBefore ?? 0n), 0)
      assert.strictEqual((yield* world.transaction(behind)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 0)
      world.chain.baseFee = gwei
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(low)).state, "confirmed")
      assert.deepStrictEqual([world.chain.effects(receiver), world.chain.effects(receiver, 2n)], [1, 1])
    })
  )

  it.effect("ends by a price that an operator gives for its nonce, above the cap of its relayer", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ policies: { gas_price_cap: 3n * gwei } })
      const [id] = yield* world.accept(1, { request: { to: receiver, value: 1n, gas_limit: 21_000n } })
      yield* world.poll()
      world.chain.baseFee = spike
      const { cancel, clear } = yield* Ledger
      yield* cancel(1, id)
      yield* emptyBlocks(world, 20)
      const newest = () => Effect.map(world.transaction(id), ({ attempts }) => attempts.at(-1)?.offer.fees)
      assert.isBelow(Number(maxFeeOf((yield* newest()) ?? assert.fail("no attempt"))), Number(spike))
      yield* clear(world.account, { from: 0n, to: 0n, price: 200n * gwei, check: () => Effect.void })
      yield* emptyBlocks(world, 10)
      const raised = maxFeeOf((yield* newest()) ?? assert.fail("no attempt"))
      assert.isTrue(raised > spike && raised <= 200n * gwei)
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "canceled")
    })
  )
})
