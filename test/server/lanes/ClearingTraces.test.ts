// Traces of the model check in the driver, about a nonce that a no-op uses: after a change of policy, a deadline, or a refusal by every node.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { ledger } from "../ledger/Fixtures.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const { receiver } = World

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
      world.chain.forget()
      yield* Scenes.finish(world)
      const { attempts, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, attempts.at(-1)?.kind], ["expired", "noop"])
      assert.isAbove(attempts.at(-1)?.sends ?? 0, 1)
      assert.strictEqual(world.chain.effects(receiver), 0)
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

layerEach(ledger)("C4: a no-op of an account with code", (it) => {
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
