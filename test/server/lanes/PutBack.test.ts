// A database that is put back from a copy, with the same mark: no request is executed twice by it.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import { nonceOf } from "../../../src/networks/evm/rules/Evm.ts"
import { grow } from "../../../src/testkit/chain/Blocks.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

type Scene = Effect.Success<ReturnType<typeof World.make>>

const request = (value: bigint) => ({ to: World.receiver, value, gas_limit: 21_000n })

/** Blocks, each with polls, whatever the ledger says. */
const blocks = Effect.fnUntraced(function* (world: Scene, count: number) {
  for (let block = 0; block < count; block++) {
    world.chain.mine()
    yield* world.poll(2)
  }
})

const heldAs = Effect.fnUntraced(function* (world: Scene, id: TransactionId) {
  const { state, restored, cause } = yield* world.transaction(id)
  return [state, restored, cause?.code]
})

const waits = ["pending", true, "restored_unproven"]

/** Everything is shown, but nothing that takers could be found with. */
const hidden = (world: Scene) => {
  const [node] = world.nodes
  Scenes.hideTransactions(node, world.chain)
}

layerEach(memory)("after a copy is put back", (it) => {
  it.effect("what was executed meanwhile waits for an operator, in the first step already", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed()
      const [one] = yield* world.accept(1, { request: request(2n) })
      const [two] = yield* world.accept(1, { request: request(3n) })
      yield* world.copied
      yield* blocks(world, 2)
      yield* world.putBack
      yield* world.poll()
      assert.deepStrictEqual(yield* heldAs(world, one), waits)
      assert.deepStrictEqual(yield* heldAs(world, two), waits)
      const [next] = yield* world.accept(1, { request: request(4n) })
      yield* Scenes.finish(world, 2)
      assert.strictEqual(nonceOf(yield* world.transaction(next)), 3)
      assert.deepStrictEqual(
        [2n, 3n, 4n].map((value) => world.chain.effects(World.receiver, value)),
        [1, 1, 1]
      )
    })
  )

  it.effect("a request that had a nonce in the copy and was executed at another one is not sent again", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed({ network: { required_confirmations: 4 } })
      const [early] = yield* world.accept(1, { request: request(2n), notBefore: 120_000 })
      yield* world.copied
      const [other] = yield* world.accept(1, { request: request(3n) })
      yield* blocks(world, 60)
      assert.strictEqual(world.chain.effects(World.receiver, 2n), 1)
      assert.strictEqual((yield* world.transaction(other)).state, "confirmed")
      yield* world.putBack
      yield* blocks(world, 10)
      assert.deepStrictEqual(yield* heldAs(world, early), waits)
      assert.strictEqual(world.chain.effects(World.receiver, 2n), 1)
    })
  )

  it.effect("a node that no longer shows transactions of final blocks keeps no request from its nonce", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed()
      yield* world.copied
      yield* world.putBack
      hidden(world)
      const [next] = yield* world.accept(1, { request: request(2n) })
      yield* blocks(world, 4)
      const row = yield* world.transaction(next)
      assert.deepStrictEqual([row.state, nonceOf(row), row.restored], ["submitted", 1, false])
    })
  )

  it.effect("of a lane that was never polled, what was executed waits for an operator", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept(1, { request: request(2n) })
      yield* world.copied
      yield* blocks(world, 4)
      assert.strictEqual(world.chain.effects(World.receiver, 2n), 1)
      yield* world.putBack
      yield* blocks(world, 5)
      assert.deepStrictEqual(yield* heldAs(world, id), waits)
      assert.strictEqual(world.chain.effects(World.receiver, 2n), 1)
    })
  )

  it.effect("a request that a no-op had canceled meanwhile waits for an operator", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      yield* world.copied
      const foreign = yield* world.foreign(0, 0n, World.address)
      world.chain.include([{ bytes: foreign, isSuccess: true }])
      world.chain.forget()
      yield* world.putBack
      yield* blocks(world, 6)
      assert.deepStrictEqual(yield* heldAs(world, id), waits)
    })
  )

  it.effect("a node that lags is not believed before it is younger than the start of the database", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed()
      const [node] = world.nodes
      const [id] = yield* world.accept(1, { request: request(2n) })
      yield* world.copied
      yield* blocks(world, 2)
      yield* world.putBack
      if (node !== undefined) node.lag = world.chain.blocks.length - 8
      world.databaseStartedAt = 1_000_000
      yield* world.poll(3)
      const held = yield* world.transaction(id)
      assert.deepStrictEqual([held.state, held.cause?.code], ["pending", "nonce_unexplained"])
      if (node !== undefined) node.lag = 0
      yield* blocks(world, 10)
      assert.deepStrictEqual(yield* heldAs(world, id), waits)
      assert.strictEqual(world.chain.effects(World.receiver, 2n), 1)
    })
  )
})

layerEach(memory)("when a reorganisation replaces what used a nonce", (it) => {
  it.effect(
    "a request that the new chain has executed waits for an operator, although the nonce was explained before",
    () =>
      Effect.gen(function* () {
        const { world } = yield* Scenes.confirmed({ network: { required_confirmations: 6 } })
        const [id] = yield* world.accept(1, { request: request(2n), notBefore: 60_000 })
        const before = world.chain.blocks
        world.chain.include([{ bytes: yield* world.foreign(1), isSuccess: true }])
        yield* world.poll(2)
        assert.deepStrictEqual(yield* heldAs(world, id), ["pending", false, "not_before"])
        world.chain.blocks = grow(grow(before, [{ bytes: yield* world.foreign(1, 2n), isSuccess: true }]))
        yield* blocks(world, 60)
        assert.deepStrictEqual(yield* heldAs(world, id), waits)
        assert.strictEqual(world.chain.effects(World.receiver, 2n), 1)
      })
  )
})

/** Milliseconds by the test clock: no block is younger than this start of the database. */
const start = 10_000_000

/** A transaction that was accepted before the database started, and the polls that it waits for, without and with new blocks. */
const pollsUntilSent = Effect.fnUntraced(function* (hasBlocks: boolean, atMost: number) {
  const { world } = yield* Scenes.confirmed()
  world.chain.timeOf = () => 1
  const [id] = yield* world.accept(1, { request: request(2n) })
  world.databaseStartedAt = start
  for (let polls = 1; polls <= atMost; polls++) {
    if (hasBlocks) world.chain.mine()
    yield* world.poll()
    if ((yield* world.transaction(id)).state !== "pending") return polls
  }
  return undefined
})

layerEach(memory)("after a start of the database, a chain whose blocks are all older", (it) => {
  it.effect("holds nothing for longer than ten seconds if it makes no empty blocks", () =>
    Effect.gen(function* () {
      const polls = yield* pollsUntilSent(false, 20)
      assert.strictEqual(polls, 1 + 10_000 / World.blockTime)
    })
  )

  it.effect("is waited for while it makes blocks, because its node lags", () =>
    Effect.map(pollsUntilSent(true, 20), (polls) => assert.isUndefined(polls))
  )
})

layerEach(memory)("while nobody can show what used a nonce", (it) => {
  it.effect("nothing is signed, and after ten polls every open request waits for an operator", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed()
      world.chain.include([{ bytes: yield* world.foreign(1), isSuccess: true }])
      hidden(world)
      const [id] = yield* world.accept(1, { request: request(2n) })
      yield* blocks(world, 2)
      assert.deepStrictEqual(yield* heldAs(world, id), ["pending", false, "nonce_unexplained"])
      yield* blocks(world, 5)
      assert.deepStrictEqual(yield* heldAs(world, id), waits)
      const [next] = yield* world.accept(1, { request: request(4n) })
      yield* blocks(world, 2)
      assert.strictEqual(nonceOf(yield* world.transaction(next)), 2)
    })
  )

  it.effect("the next provider is asked, which shows it", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed({ providers: 2 })
      world.chain.include([{ bytes: yield* world.foreign(1), isSuccess: true }])
      hidden(world)
      const [id] = yield* world.accept(1, { request: request(2n) })
      yield* world.poll(2)
      assert.strictEqual(nonceOf(yield* world.transaction(id)), 2)
    })
  )

  it.effect("a chain without empty blocks does not hold the lane: the transaction itself proves the count", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed()
      world.chain.include([{ bytes: yield* world.foreign(1), isSuccess: true }])
      const [id] = yield* world.accept(1, { request: request(2n) })
      yield* world.poll()
      assert.strictEqual(nonceOf(yield* world.transaction(id)), 2)
    })
  )
})
