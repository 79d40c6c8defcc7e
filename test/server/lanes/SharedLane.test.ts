// Two relayers of one account, one of which has RPC URLs of its own: what these say, or do not say, holds its own rows alone.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import { hex } from "./fake/Hex.ts"
import type { Node } from "./fake/Node.ts"
import * as World from "./fake/World.ts"

const { receiver } = World

const shared = Effect.gen(function* () {
  const world = yield* World.make({ own: 1 })
  return { world, own: world.ownNodes[0] ?? assert.fail("no node") }
})

type Shared = Effect.Success<typeof shared>

/** Blocks with a poll each. */
const live = Effect.fnUntraced(function* ({ world }: Shared, blocks: number) {
  for (let block = 0; block < blocks; block++) {
    world.chain.mine()
    yield* world.poll()
  }
})

const codeOf = ({ cause, state }: { readonly cause?: { readonly code: string }; readonly state: string }) => [
  state,
  cause?.code
]

const lies: Readonly<Record<string, readonly [(node: Node) => void, string]>> = {
  "a count that the window does not allow": [
    (node) => node.lies.set("eth_getTransactionCount", () => ({ _tag: "Result", value: hex(1000) })),
    "nonce_ahead"
  ],
  "a count that no transaction explains": [
    (node) => node.lies.set("eth_getTransactionCount", () => ({ _tag: "Result", value: hex(3) })),
    "nonce_unexplained"
  ],
  "no balance": [
    (node) => node.lies.set("eth_getBalance", () => ({ _tag: "Result", value: hex(0) })),
    "insufficient_funds"
  ],
  nothing: [(node) => void (node.isAway = true), "providers_unavailable"]
}

layerEach(memory)("providers of one relayer that show", (it) => {
  for (const [name, [lie, code]] of Object.entries(lies)) {
    it.effect(`${name} hold its rows, and not those of a relayer with other URLs`, () =>
      Effect.gen(function* () {
        const scene = yield* shared
        const { world } = scene
        const [liar] = world.nodes
        if (liar === undefined) return assert.fail("no node")
        const [first] = yield* world.accept()
        lie(liar)
        yield* live(scene, 2)
        const [other] = yield* world.acceptOwn(1, { request: { to: receiver, value: 7n, gas_limit: 21_000n } })
        // Fewer polls than make every open request of the only providers wait for an operator.
        yield* live(scene, 6)
        assert.deepStrictEqual(codeOf(yield* world.transaction(first)), ["pending", code])
        assert.isFalse((yield* world.transaction(first)).restored)
        assert.deepStrictEqual(codeOf(yield* world.ownTransaction(other)), ["confirmed", "confirmed"])
        liar.lies.clear()
        liar.isAway = false
        yield* live(scene, 20)
        assert.deepStrictEqual(codeOf(yield* world.transaction(first)), ["confirmed", "confirmed"])
        assert.deepStrictEqual([world.chain.effects(receiver), world.chain.effects(receiver, 7n)], [1, 1])
      })
    )
  }
})

layerEach(memory)("a wrong count at the own URLs of a relayer", (it) => {
  it.effect("decides nothing while the URLs of the network are asked as well", () =>
    Effect.gen(function* () {
      const scene = yield* shared
      const { world, own } = scene
      const [first] = yield* world.acceptOwn(1, { request: { to: receiver, value: 7n, gas_limit: 21_000n } })
      own.lies.set("eth_getTransactionCount", () => ({ _tag: "Result", value: hex(1000) }))
      const [other] = yield* world.accept()
      yield* live(scene, 15)
      assert.strictEqual((yield* world.transaction(other)).state, "confirmed")
      assert.isFalse((yield* world.ownTransaction(first)).restored)
      assert.isAtMost((yield* world.lane).nextNonce, 2)
    })
  )
})

layerEach(memory)("a count that the URLs of the network cannot explain", (it) => {
  it.effect("is not given up after ten polls while a relayer's own URLs explain theirs", () =>
    Effect.gen(function* () {
      const scene = yield* shared
      const { world } = scene
      const [first] = yield* world.accept()
      for (const { lies } of world.nodes)
        lies.set("eth_getTransactionCount", () => ({ _tag: "Result", value: hex(30) }))
      for (let round = 0; round < 12; round++) {
        yield* world.acceptOwn(1, { request: { to: receiver, value: 7n, gas_limit: 21_000n } })
        yield* live(scene, 1)
      }
      assert.deepStrictEqual(codeOf(yield* world.transaction(first)), ["pending", "nonce_unexplained"])
      yield* live(scene, 5)
      assert.strictEqual(world.chain.effects(receiver, 7n), 12)
    })
  )
})

layerEach(memory)("a nonce that no providers of any relayer can explain", (it) => {
  it.effect("lets open requests wait for an operator after ten polls, and not before", () =>
    Effect.gen(function* () {
      const scene = yield* shared
      const { world } = scene
      for (const { lies } of [...world.nodes, ...world.ownNodes]) {
        lies.set("eth_getTransactionCount", () => ({ _tag: "Result", value: hex(3) }))
      }
      const [one] = yield* world.accept()
      const [other] = yield* world.acceptOwn()
      yield* live(scene, 9)
      assert.deepStrictEqual(codeOf(yield* world.transaction(one)), ["pending", "nonce_unexplained"])
      yield* live(scene, 2)
      assert.deepStrictEqual(codeOf(yield* world.transaction(one)), ["pending", "restored_unproven"])
      assert.deepStrictEqual(codeOf(yield* world.ownTransaction(other)), ["pending", "restored_unproven"])
    })
  )
})

/** Blocks of a second each; the database was put back from a copy, and started again at the present head. */
const putBack = Effect.fnUntraced(function* ({ world }: Shared) {
  world.chain.timeOf = (height) => height
  yield* world.putBack
  // Between the head and the next block, so that both transactions of the copy are older.
  world.databaseStartedAt = world.chain.blocks.length * 1000 - 500
})

/** Copies the database with an open request of each relayer, executes both requests, then puts the copy back. */
const copied = Effect.gen(function* () {
  const scene = yield* shared
  const { world } = scene
  yield* world.accept(1, { request: { to: receiver, value: 3n, gas_limit: 21_000n } })
  yield* live(scene, 4)
  const notBefore = 60_000
  const [first] = yield* world.accept(1, { request: { to: receiver, value: 5n, gas_limit: 21_000n }, notBefore })
  const [other] = yield* world.acceptOwn(1, { request: { to: receiver, value: 7n, gas_limit: 21_000n }, notBefore })
  yield* world.copied
  yield* live(scene, 60)
  assert.deepStrictEqual([world.chain.effects(receiver, 5n), world.chain.effects(receiver, 7n)], [1, 1])
  yield* putBack(scene)
  return { ...scene, first, other }
})

/** A lag, in blocks, with which a node does not show the transactions that were executed after the copy. */
const before = ({ world }: Shared) => world.chain.blocks.length - 10

layerEach(memory)("after a start of the database", (it) => {
  it.effect("own URLs that are younger free no request of the network's URLs, which lag", () =>
    Effect.gen(function* () {
      const scene = yield* copied
      const { world, first, other, own } = scene
      const [node] = world.nodes
      if (node !== undefined) node.lag = before(scene)
      // The own URLs show a new head, and hide what was executed since the copy.
      own.lies.set("eth_getTransactionCount", () => ({ _tag: "Result", value: hex(1) }))
      yield* live(scene, 5)
      assert.deepStrictEqual(codeOf(yield* world.transaction(first)), ["pending", "nonce_unexplained"])
      if (node !== undefined) node.lag = 0
      own.lies.clear()
      yield* live(scene, 20)
      assert.deepStrictEqual(codeOf(yield* world.transaction(first)), ["pending", "restored_unproven"])
      assert.deepStrictEqual([world.chain.effects(receiver, 5n), world.chain.effects(receiver, 7n)], [1, 1])
      assert.include(["restored_unproven", "nonce_taken"], (yield* world.ownTransaction(other)).cause?.code)
    })
  )

  it.effect("own URLs that lag hold their own request, and not that of the network's URLs", () =>
    Effect.gen(function* () {
      const scene = yield* shared
      const { world, own } = scene
      const [first] = yield* world.accept()
      yield* live(scene, 4)
      assert.strictEqual((yield* world.transaction(first)).state, "confirmed")
      const [next] = yield* world.accept(1, { request: { to: receiver, value: 5n, gas_limit: 21_000n } })
      const [other] = yield* world.acceptOwn(1, { request: { to: receiver, value: 7n, gas_limit: 21_000n } })
      yield* world.copied
      yield* putBack(scene)
      own.lag = 10
      yield* live(scene, 6)
      assert.deepStrictEqual(codeOf(yield* world.transaction(next)), ["confirmed", "confirmed"])
      assert.deepStrictEqual(codeOf(yield* world.ownTransaction(other)), ["pending", "nonce_unexplained"])
      own.lag = 0
      yield* live(scene, 5)
      assert.strictEqual((yield* world.ownTransaction(other)).state, "confirmed")
    })
  )
})

layerEach(memory)("V11: a relayer whose provider refuses a send and dies", (it) => {
  it.effect("does not hold the other relayer of its account: its bytes go through the other one's providers", () =>
    Effect.gen(function* () {
      const scene = yield* shared
      const { world, own } = scene
      const [first] = yield* world.acceptOwn(1, { request: { to: receiver, value: 7n, gas_limit: 21_000n } })
      own.lies.set("eth_sendRawTransaction", () => ({ _tag: "RpcError", code: -32000, message: "internal error" }))
      yield* world.poll()
      own.isAway = true
      const [behind] = yield* world.accept()
      yield* live(scene, 20)
      assert.deepStrictEqual(codeOf(yield* world.ownTransaction(first)), ["signed", "providers_unavailable"])
      assert.strictEqual(world.chain.effects(receiver), 0)
      yield* live(scene, 50)
      assert.strictEqual((yield* world.transaction(behind)).state, "confirmed")
      assert.deepStrictEqual([world.chain.effects(receiver), world.chain.effects(receiver, 7n)], [1, 1])
      own.isAway = false
      yield* live(scene, 10)
      assert.strictEqual((yield* world.ownTransaction(first)).state, "confirmed")
    })
  )
})
