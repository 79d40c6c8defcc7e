// One provider of two or three that is dead, frozen, or answers nothing useful: transactions still become final.
import { assert } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { maskUrl } from "../../../src/domain/chain/Rpc.ts"
import { upTo } from "../../../src/testkit/chain/Blocks.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import type { Node } from "./fake/Node.ts"
import { hex } from "./fake/Hex.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

type Scene = Effect.Success<ReturnType<typeof Scenes.sent>>

const nothing = { _tag: "Result", value: null } as const

/** Blocks with a poll each. */
const live = Effect.fnUntraced(function* ({ world }: Scene, blocks: number) {
  for (let block = 0; block < blocks; block++) {
    world.chain.mine()
    yield* world.poll()
  }
})

const codeOf = ({ id, world }: Scene) => Effect.map(world.transaction(id), ({ cause }) => cause?.code)

const stateOf = ({ id, world }: Scene) => Effect.map(world.transaction(id), ({ state }) => state)

/** Until `second_provider_missing` is 58 minutes old. */
const almostAnHour = Effect.fnUntraced(function* (scene: Scene) {
  for (let round = 0; round < 138; round++) {
    yield* TestClock.adjust("24 seconds")
    yield* live(scene, 1)
  }
})

const kinds: Readonly<Record<string, (node: Node) => void>> = {
  "is dead": (node) => {
    node.isAway = true
  },
  "answers what it is asked with null": (node) => {
    node.lies.set("eth_getTransactionReceipt", () => nothing)
    node.lies.set("eth_getBlockByNumber", ([tag]) => (tag === "latest" ? undefined : nothing))
  }
}

layerEach(memory)("a second provider of two", (it) => {
  for (const [kind, turn] of Object.entries(kinds)) {
    it.effect(`that ${kind} holds a transaction for the time of finality_by_one`, () =>
      Effect.gen(function* () {
        const scene = yield* Scenes.sent({ providers: 2 })
        const [, other] = scene.world.nodes
        if (other === undefined) return assert.fail("no node")
        turn(other)
        yield* live(scene, 10)
        assert.strictEqual(yield* codeOf(scene), "mined_waiting")
        yield* live(scene, 30)
        const { cause, causeSince } = yield* scene.world.transaction(scene.id)
        assert.strictEqual(cause?.code, "second_provider_missing")
        assert.match(cause?.figures.host ?? "", /^http:\/\/node-1\.example/)
        assert.strictEqual(cause?.figures.decides_at, causeSince + 3_600_000)
        yield* almostAnHour(scene)
        assert.strictEqual(yield* stateOf(scene), "mined")
        yield* TestClock.adjust("2 minutes")
        yield* live(scene, 40)
        const { state, confirmedBy } = yield* scene.world.transaction(scene.id)
        assert.deepStrictEqual([state, confirmedBy], ["confirmed", 1])
      })
    )
  }

  it.effect("that is dead holds a transaction for ever if finality_by_one is never", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent({ providers: 2, network: { finality_by_one: "never" } })
      const [, other] = scene.world.nodes
      if (other === undefined) return assert.fail("no node")
      other.isAway = true
      yield* live(scene, 45)
      yield* TestClock.adjust("1 day")
      yield* live(scene, 45)
      assert.strictEqual(yield* codeOf(scene), "second_provider_missing")
      other.isAway = false
      yield* live(scene, 2)
      const { state, confirmedBy } = yield* scene.world.transaction(scene.id)
      assert.deepStrictEqual([state, confirmedBy], ["confirmed", undefined])
    })
  )

  it.effect(
    "that is dead does not let one provider decide about a block of the required depth, only at twice that",
    () =>
      Effect.gen(function* () {
        const required = 200
        const scene = yield* Scenes.sent({ providers: 2, network: { required_confirmations: required } })
        const [, other] = scene.world.nodes
        if (other === undefined) return assert.fail("no node")
        other.isAway = true
        yield* live(scene, required + 20)
        yield* almostAnHour(scene)
        yield* TestClock.adjust("4 minutes")
        yield* live(scene, 35)
        assert.strictEqual(yield* codeOf(scene), "second_provider_missing")
        yield* live(scene, 15)
        assert.strictEqual(yield* stateOf(scene), "confirmed")
      })
  )

  it.effect("that moves again starts the time anew", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent({ providers: 2 })
      const [, other] = scene.world.nodes
      if (other === undefined) return assert.fail("no node")
      other.isAway = true
      yield* live(scene, 45)
      yield* almostAnHour(scene)
      other.isAway = false
      other.lag = scene.world.chain.blocks.length - 4
      yield* live(scene, 1)
      assert.strictEqual(yield* codeOf(scene), "mined_waiting")
      other.isAway = true
      yield* TestClock.adjust("2 minutes")
      yield* live(scene, 45)
      assert.strictEqual(yield* codeOf(scene), "second_provider_missing")
    })
  )

  it.effect(
    "has an opinion about an invented receipt although it has none: its block does not name the transaction",
    () =>
      Effect.gen(function* () {
        const scene = yield* Scenes.sent({ providers: 2 })
        const { world } = scene
        const [liar] = world.nodes
        world.chain.pool = new Map()
        world.chain.mine()
        const block = world.chain.blocks.at(-1) ?? assert.fail("no block")
        liar?.lies.set("eth_getTransactionCount", () => ({ _tag: "Result", value: hex(1) }))
        liar?.lies.set("eth_getTransactionReceipt", () => ({
          _tag: "Result",
          value: { blockNumber: hex(block.number), blockHash: block.hash, status: "0x1", gasUsed: hex(20_000) }
        }))
        yield* live(scene, 45)
        assert.strictEqual(yield* codeOf(scene), "providers_disagree")
        yield* TestClock.adjust("2 hours")
        yield* live(scene, 45)
        assert.strictEqual(yield* codeOf(scene), "providers_disagree")
      })
  )
})

/** The state of a transaction after three blocks of a second, if the first of two providers lacks the newest `lag` blocks. */
const behindBy = Effect.fnUntraced(function* (lag: number) {
  yield* TestClock.adjust("200 seconds")
  const now = yield* Clock.currentTimeMillis
  const world = yield* World.make({ providers: 2 })
  world.chain.blocks = upTo(100)
  world.chain.timeOf = (height) => now / 1000 + height - 100
  const [first] = world.nodes
  if (first === undefined) return assert.fail("no node")
  first.lag = lag
  const [id] = yield* world.accept()
  yield* live({ id, world }, 3)
  return yield* stateOf({ id, world })
})

layerEach(memory)("a first provider", (it) => {
  it.effect("of two that is frozen is not asked first any more after 30 seconds", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent({ providers: 2 })
      const [frozen] = scene.world.nodes
      if (frozen === undefined) return assert.fail("no node")
      frozen.fork = scene.world.chain.blocks
      yield* live(scene, 25)
      assert.strictEqual(yield* stateOf(scene), "submitted")
      yield* live(scene, 10)
      assert.strictEqual(yield* stateOf(scene), "mined")
    })
  )

  it.effect("of three that is frozen does not keep anything from being final", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent({ providers: 3 })
      const [frozen] = scene.world.nodes
      if (frozen === undefined) return assert.fail("no node")
      frozen.fork = scene.world.chain.blocks
      yield* live(scene, 40)
      assert.strictEqual(yield* stateOf(scene), "confirmed")
    })
  )

  it.effect("of two that is 40 blocks of a second behind is asked last from the next poll on", () =>
    Effect.map(behindBy(40), (state) => assert.strictEqual(state, "mined"))
  )

  it.effect("of two that is 25 blocks of a second behind is asked first all the same", () =>
    Effect.map(behindBy(25), (state) => assert.strictEqual(state, "submitted"))
  )
})

const swallow = ({ lies }: Node): void => {
  lies.set("eth_sendRawTransaction", () => ({ _tag: "Result", value: hex(0) }))
}

layerEach(memory)("a provider that hides a transaction", (it) => {
  it.effect("is not asked first any more after three polls beyond the patience of the transaction", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent({ providers: 3 })
      const [liar] = scene.world.nodes
      liar?.lies.set("eth_getTransactionCount", () => ({ _tag: "Result", value: hex(0) }))
      yield* live(scene, 6)
      assert.strictEqual(yield* stateOf(scene), "submitted")
      yield* live(scene, 20)
      assert.strictEqual(yield* stateOf(scene), "confirmed")
    })
  )
})

layerEach(memory)("providers that accept a transaction and do not pass it on", (it) => {
  it.effect("are named once its price suffices and blocks do not include it", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent({ providers: 2 })
      const { world } = scene
      for (const node of world.nodes) swallow(node)
      // They show what they do not pass on.
      for (const { lies } of world.nodes) lies.set("eth_getTransactionByHash", () => ({ _tag: "Result", value: {} }))
      world.chain.forget()
      yield* TestClock.adjust("30 seconds")
      yield* live(scene, 10)
      const { cause } = yield* world.transaction(scene.id)
      assert.strictEqual(cause?.code, "accepted_not_included")
      assert.strictEqual(cause?.figures.host, world.nodes.map(({ url }) => maskUrl(url)).join(", "))
      for (const { lies } of world.nodes) lies.clear()
      yield* live(scene, 10)
      assert.strictEqual(yield* stateOf(scene), "confirmed")
    })
  )
})

layerEach(memory)("a chain of which no provider shows a new block", (it) => {
  it.effect("is named for what waits in the pool, until one of the providers goes on", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent({ providers: 2 })
      const { world } = scene
      for (const node of world.nodes) node.fork = world.chain.blocks
      yield* world.poll(25)
      assert.notStrictEqual(yield* codeOf(scene), "chain_stalled")
      yield* world.poll(45)
      const { cause } = yield* world.transaction(scene.id)
      assert.strictEqual(cause?.code, "chain_stalled")
      assert.strictEqual(cause?.figures.newest_block, 5)
      const [, other] = world.nodes
      if (other !== undefined) other.fork = undefined
      yield* live(scene, 10)
      assert.strictEqual(yield* stateOf(scene), "mined")
    })
  )

  it.effect("is named for what is mined and waits for depth", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent()
      yield* live(scene, 1)
      assert.strictEqual(yield* codeOf(scene), "mined_waiting")
      yield* scene.world.poll(40)
      assert.strictEqual(yield* codeOf(scene), "chain_stalled")
      yield* live(scene, 4)
      assert.strictEqual(yield* stateOf(scene), "confirmed")
    })
  )

  it.effect("gives nonces all the same: a chain without empty blocks stands still until something is sent", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent()
      yield* live(scene, 4)
      assert.strictEqual(yield* stateOf(scene), "confirmed")
      const [later] = yield* scene.world.accept()
      yield* scene.world.poll(1)
      assert.strictEqual((yield* scene.world.transaction(later)).state, "submitted")
    })
  )
})
