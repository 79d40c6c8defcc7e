// What pools lose, refuse and keep, and what callers do meanwhile: every nonce is used, and each request at most once.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import { gwei } from "./fake/Chain.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const { receiver } = World
const refusal = (message: string) => ({ _tag: "RpcError", code: -32000, message }) as const

layerEach(memory)("a pool", (it) => {
  it.effect("that drops everything gets the same bytes again", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      yield* world.accept(20)
      yield* world.poll()
      const sent = [...world.chain.pool.values()].map(({ hash }) => hash)
      assert.lengthOf(sent, 20)
      world.chain.forget()
      yield* world.poll(3)
      assert.deepStrictEqual([...world.chain.pool.values()].map(({ hash }) => hash).toSorted(), sent.toSorted())
      yield* Scenes.finish(world)
      assert.strictEqual(world.chain.effects(receiver), 20)
    })
  )

  it.effect("without the head of the lane, because it was canceled, executes the rest", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [head] = yield* world.accept(20)
      yield* world.poll()
      world.chain.forget(0)
      yield* (yield* Ledger).cancel(1, head)
      yield* world.poll()
      world.chain.mine()
      yield* world.poll(2)
      assert.strictEqual(world.chain.effects(receiver), 19)
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(head)).state, "canceled")
    })
  )

  it.effect("that calls a no-op underpriced gets dearer ones, each by an eighth", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      yield* (yield* Ledger).cancel(1, id)
      const [node] = world.nodes
      let refusals = 0
      node?.lies.set("eth_sendRawTransaction", () =>
        ++refusals > 2 ? undefined : refusal("replacement transaction underpriced")
      )
      yield* world.poll(4)
      yield* Scenes.finish(world)
      const { attempts, state } = yield* world.transaction(id)
      assert.strictEqual(state, "canceled")
      const fees = attempts.map(({ offer: { fees } }) => (fees.type === "eip1559" ? fees.maxFee : 0n))
      for (const [index, fee] of fees.entries()) assert.isAtLeast(Number(fee) / Number(fees[index - 1] ?? 1n), 1.125)
      assert.isAtLeast(attempts.length, 4)
    })
  )

  it.effect("whose market has fallen gets no cheaper bump", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      world.chain.baseFee = 50n * gwei
      const [id] = yield* world.accept()
      yield* world.poll()
      world.chain.baseFee = gwei
      for (let block = 0; block < 20; block++) {
        world.chain.include([])
        yield* world.poll()
      }
      const [original, bump] = (yield* world.transaction(id)).attempts
      if (original?.offer.fees.type !== "eip1559" || bump?.offer.fees.type !== "eip1559") return assert.fail("no bump")
      assert.isAtLeast(Number(bump.offer.fees.maxFee), Number(original.offer.fees.maxFee) * 1.125)
    })
  )

  it.effect("of one node that refuses for good decides nothing if another node takes the bytes", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [first] = world.nodes
      first?.lies.set("eth_sendRawTransaction", () => refusal("transaction type not supported"))
      const [id] = yield* world.accept()
      yield* world.poll()
      const { intent, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, intent], ["submitted", "execute"])
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )

  it.effect("that takes one transaction of a delegated account gets one at a time", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      world.chain.code = `0xef0100${"11".repeat(20)}`
      yield* world.accept(3)
      yield* world.poll()
      assert.strictEqual(world.chain.pool.size, 1)
      yield* Scenes.finish(world)
      assert.strictEqual(world.chain.effects(receiver), 3)
    })
  )

  it.effect("that is full halves the window, which grows again with the blocks", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [node] = world.nodes
      node?.lies.set("eth_sendRawTransaction", () =>
        world.chain.pool.size >= 16 ? refusal("txpool is full") : undefined
      )
      yield* world.accept(40)
      yield* world.poll(2)
      assert.isBelow((yield* world.lane).windowSize, 64)
      yield* Scenes.finish(world)
      assert.strictEqual(world.chain.effects(receiver), 40)
      yield* world.accept()
      yield* world.poll()
      const { windowSize } = yield* world.lane
      world.chain.mine()
      yield* world.poll(2)
      assert.isAbove((yield* world.lane).windowSize, windowSize)
    })
  )
})

layerEach(memory)("a chain", (it) => {
  it.effect("whose reorganisation brings the older attempt decides by what is mined", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      const original = world.chain.pool.get(0)
      yield* (yield* Ledger).replace(1, id, { to: receiver, value: 2n, gas_limit: 21_000n })
      yield* world.poll()
      world.chain.mine()
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).mined?.ordinal, 2)
      world.chain.reorg(1)
      if (original !== undefined) world.chain.include([{ bytes: original, isSuccess: true }])
      yield* Scenes.finish(world)
      const { mined, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, mined?.ordinal], ["confirmed", 1])
      assert.deepStrictEqual([world.chain.effects(receiver), world.chain.effects(receiver, 2n)], [1, 0])
    })
  )

  it.effect("that mines a transaction while it is being canceled ends it as confirmed", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      const original = world.chain.pool.get(0)
      const canceled = yield* (yield* Ledger).cancel(1, id)
      assert.deepInclude(canceled.transaction, { state: "submitted", intent: "cancel" })
      yield* world.poll()
      if (original !== undefined) world.chain.include([{ bytes: original, isSuccess: true }])
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.chain.effects(receiver), 1)
    })
  )

  it.effect("that reverts a transaction is asked for the reason, if the policy wants it", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ policies: { include_revert_data: true } })
      const [node] = world.nodes
      node?.lies.set("eth_call", () => ({ _tag: "RpcError", code: 3, message: "execution reverted: paused" }))
      world.chain.mine(1, { isSuccess: false })
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).mined?.receipt.details.revertReason, "paused")
    })
  )

  it.effect("behind nodes of different age, asked in turn, loses and repeats nothing", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [node] = world.nodes
      yield* world.accept(5)
      for (let turn = 0; turn < 20; turn++) {
        if (node !== undefined) node.lag = turn % 2 === 0 ? 0 : 2
        yield* world.poll()
        world.chain.mine()
      }
      assert.strictEqual(world.chain.effects(receiver), 5)
      assert.lengthOf((yield* world.contents).inFlight, 0)
    })
  )
})
