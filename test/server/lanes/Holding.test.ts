// What keeps a transaction from getting a nonce: it waits with a code, leaves no hole, and goes on by itself.
import { nonceOf } from "../../../src/networks/evm/rules/Evm.ts"
import { assert } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as LaneStep from "../../../src/server/lanes/LaneStep.ts"
import { SignerUnavailable } from "../../../src/server/signers/backends/SignerBackend.ts"
import { memory } from "../ledger/Fixtures.ts"
import { gwei } from "./fake/Chain.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const { receiver } = World

layerEach(memory)("a lane", (it) => {
  it.effect("whose commit fails, because the database is away, sends nothing before it has committed", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept()
      const context = yield* world.claim
      const commitSignatures = () => Effect.die(new Error("the database is away"))
      const failed = yield* Effect.exit(LaneStep.run({ ...context, ledger: { ...context.ledger, commitSignatures } }))
      assert.isTrue(Exit.isFailure(failed))
      assert.strictEqual(world.chain.sent.size, 0)
      yield* Scenes.finish(world)
      const { nonce, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, nonce], ["confirmed", 0])
    })
  )

  it.effect("whose signer fails gives no nonce, asks it again later and later, and leaves no hole", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const { sign } = world
      let asked = 0
      const away = new SignerUnavailable({ reason: "unreachable", message: "Vault cannot be reached" })
      world.sign = () => Effect.suspend(() => (asked++, Effect.fail(away)))
      const ids = yield* world.accept(3)
      yield* world.poll(32)
      // Three transactions at first, then one of them after 1, 2, 4, 8 and 16 seconds.
      assert.isAtMost(asked, 3 + 5)
      const held = yield* world.transaction(ids[0])
      assert.deepStrictEqual(
        [held.state, nonceOf(held), held.cause?.code],
        ["pending", undefined, "signer_unavailable"]
      )
      assert.strictEqual((yield* world.lane).nextNonce, 0)
      world.sign = sign
      yield* TestClock.adjust("1 minute")
      yield* Scenes.finish(world)
      assert.strictEqual(world.chain.effects(receiver), 3)
      assert.strictEqual(nonceOf(yield* world.transaction(ids[0])), 0)
    })
  )

  it.effect("whose signer fails in the middle of a batch commits what comes before", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const { sign } = world
      let left = 2
      const away = new SignerUnavailable({ reason: "unreachable", message: "Vault cannot be reached" })
      world.sign = (curve, message) => (left-- > 0 ? sign(curve, message) : Effect.fail(away))
      yield* world.accept(5)
      yield* world.poll()
      assert.strictEqual(world.chain.pool.size, 2)
      assert.strictEqual((yield* world.lane).nextNonce, 2)
      world.sign = sign
      yield* TestClock.adjust("1 minute")
      yield* Scenes.finish(world)
      assert.strictEqual(world.chain.effects(receiver), 5)
    })
  )

  it.effect("with funds for some sends these, and the others when more funds come", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      // A transfer reserves 21,000 gas at 3 gwei; two no-ops are kept back.
      world.chain.balance = 21_000n * 3n * gwei * 5n
      const ids = yield* world.accept(10)
      yield* world.poll()
      const sent = world.chain.pool.size
      assert.isAbove(sent, 0)
      assert.isBelow(sent, 10)
      const next = yield* world.transaction(ids[sent] ?? ids[0])
      assert.deepStrictEqual([nonceOf(next), next.cause?.code], [undefined, "insufficient_funds"])
      world.chain.balance *= 10n
      yield* Scenes.finish(world)
      assert.strictEqual(world.chain.effects(receiver), 10)
    })
  )

  it.effect("of a relayer that was paused or disabled finishes what has a nonce, and starts nothing", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      const active = world.relayer
      const [waiting] = yield* world.accept()
      world.relayer = { ...active, paused: true }
      yield* Scenes.finish(world, 1)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual((yield* world.transaction(waiting)).cause?.code, "relayer_paused")
      const disabled_reason = { type: "RpcValidationFailed", details: "the providers do not answer" } as const
      world.relayer = { ...active, system_disabled: true, disabled_reason }
      yield* world.poll(2)
      assert.strictEqual((yield* world.transaction(waiting)).cause?.code, "providers_unavailable")
      world.relayer = active
      yield* Scenes.finish(world)
      assert.strictEqual(nonceOf(yield* world.transaction(waiting)), 1)
    })
  )

  it.effect("whose providers are away says so, and goes on when one of them answers", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ providers: 2 })
      const [waiting] = yield* world.accept()
      for (const node of world.nodes) node.isAway = true
      yield* world.poll(2)
      assert.strictEqual((yield* world.transaction(id)).cause?.code, "providers_unavailable")
      assert.strictEqual((yield* world.transaction(waiting)).cause?.code, "providers_unavailable")
      const [, second] = world.nodes
      if (second !== undefined) second.isAway = false
      world.chain.mine(4)
      yield* world.poll(2)
      assert.strictEqual((yield* world.transaction(id)).state, "mined", "the other one has not confirmed the block")
      assert.strictEqual(nonceOf(yield* world.transaction(waiting)), 1)
      for (const node of world.nodes) node.isAway = false
      yield* Scenes.finish(world)
      assert.strictEqual(world.chain.effects(receiver), 2)
    })
  )
})
