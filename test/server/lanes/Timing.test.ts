// When a lane polls its chain, raises prices and sends again, by the test clock.
import { assert } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import { gwei } from "./fake/Chain.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const send = "eth_sendRawTransaction"

/** Polls, each after an empty block, until the transaction has another attempt, and how many these were. */
const pollsUntilBump = Effect.fnUntraced(function* ({ id, world }: Effect.Success<ReturnType<typeof Scenes.sent>>) {
  for (let polls = 1; polls <= 30; polls++) {
    world.chain.include([])
    yield* world.poll()
    if ((yield* world.transaction(id)).attempts.length > 1) return polls
  }
  return undefined
})

layerEach(memory)("a lane with open transactions", (it) => {
  it.effect("polls once per block, but at least every 12 seconds and at most every second", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      yield* world.accept()
      for (const [blockTime, seconds] of [
        [250, 1],
        [5000, 5],
        [60_000, 12]
      ] as const) {
        world.network = { ...world.network, average_blocktime_ms: blockTime }
        yield* TestClock.adjust("1 minute")
        const now = yield* Clock.currentTimeMillis
        const next = yield* world.poll()
        assert.deepStrictEqual(next, { _tag: "Wait", until: now + 1000 + seconds * 1000 })
        // What `explain` shows.
        assert.strictEqual((yield* world.contents).stored.nextPollAt, now + 1000 + seconds * 1000)
      }
    })
  )

  it.effect("polls when a second begins, so that lanes poll together", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ network: { average_blocktime_ms: 5000 } })
      yield* world.accept()
      yield* TestClock.adjust("370 millis")
      assert.deepStrictEqual(yield* world.poll(), { _tag: "Wait", until: 6000 })
      yield* TestClock.adjust("3640 millis")
      assert.deepStrictEqual(yield* world.poll(), { _tag: "Wait", until: 11_000 })
    })
  )

  it.effect(
    "polls in the middle of the time in which the next block can come, once two polls have shown blocks in a row",
    () =>
      Effect.gen(function* () {
        const world = yield* World.make({ network: { average_blocktime_ms: 8000 } })
        yield* world.accept()
        assert.deepStrictEqual(yield* world.poll(), { _tag: "Wait", until: 9000 })
        yield* TestClock.adjust("7 seconds")
        world.chain.include([])
        assert.deepStrictEqual(yield* world.poll(), { _tag: "Wait", until: 13_000 })
        yield* TestClock.adjust("3 seconds")
        world.chain.include([])
        // The second block came between 9 and 13 seconds.
        assert.deepStrictEqual(yield* world.poll(), { _tag: "Wait", until: 18_938 })
        // A poll without an answer takes nothing away from what is known.
        const [node] = world.nodes
        assert.isDefined(node)
        node.isAway = true
        yield* TestClock.adjust("5 seconds")
        yield* world.poll()
        node.isAway = false
        world.chain.include([])
        // The third block came between 16.9 and 20 seconds.
        assert.deepStrictEqual(yield* world.poll(), { _tag: "Wait", until: 26_375 })
      })
  )

  it.effect("does not poll again before half of the block time has passed", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      yield* world.accept()
      yield* TestClock.adjust("600 millis")
      assert.deepStrictEqual(yield* world.poll(), { _tag: "Wait", until: 3000 })
    })
  )

  it.effect("sends what is accepted between two polls without another poll", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.sent({ network: { average_blocktime_ms: 12_000 } })
      const [node] = world.nodes
      const before = node?.seen.length ?? 0
      yield* world.accept()
      yield* world.poll()
      assert.deepStrictEqual(
        node?.seen.slice(before).map(({ method }) => method),
        [send]
      )
    })
  )

  it.effect("asks its nodes nothing after the last one has ended", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.confirmed()
      const [node] = world.nodes
      const asked = node?.seen.length
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* world.poll(), { _tag: "Idle" })
      assert.strictEqual(node?.seen.length, asked)
    })
  )
})

layerEach(memory)("the price of the head of a lane", (it) => {
  it.effect("rises after three times its patience if the market stays the same: 12 blocks and 18 seconds", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* pollsUntilBump(yield* Scenes.sent()), 18)
    })
  )

  it.effect("rises after its patience if the market is above it: 4 blocks and 6 seconds", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent()
      scene.world.chain.baseFee = 50n * gwei
      assert.strictEqual(yield* pollsUntilBump(scene), 6)
    })
  )

  it.effect("stays while the chain makes no blocks", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      world.chain.baseFee = 50n * gwei
      yield* world.poll(40)
      assert.lengthOf((yield* world.transaction(id)).attempts, 1)
    })
  )
})

layerEach(memory)("signed bytes", (it) => {
  it.effect("that no node answered about are sent again after 1, 2, 4 and 8 seconds", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [node] = world.nodes
      node?.lies.set(send, () => ({ _tag: "RpcError", code: -32005, message: "" }))
      // The node knows the bytes, so that only the outcome of the send is unknown.
      node?.lies.set("eth_getTransactionByHash", () => ({ _tag: "Result", value: {} }))
      const [id] = yield* world.accept()
      const sends: Array<number> = []
      for (let second = 0; second < 16; second++) {
        yield* world.poll()
        if (node?.count(send) !== sends.length) sends.push(second)
      }
      assert.deepStrictEqual(sends, [0, 1, 3, 7, 15])
      const { attempts, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, attempts[0]?.outcome], ["signed", "unknown"])
    })
  )

  it.effect("that a node has are sent again after 30 seconds, and not before", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.sent()
      const [node] = world.nodes
      yield* world.poll(29)
      assert.strictEqual(node?.count(send), 1)
      yield* world.poll()
      assert.strictEqual(node?.count(send), 2)
    })
  )
})
