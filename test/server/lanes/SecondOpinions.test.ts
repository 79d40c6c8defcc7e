// One provider never decides alone how a transaction ends, and another chain never gets its bytes.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { grow, reorg } from "../../../src/testkit/chain/Blocks.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import { hex } from "./fake/Hex.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

type Scene = Effect.Success<ReturnType<typeof Scenes.sent>>

const receiptIn = (block: { readonly number: number; readonly hash: string }, status: string) => ({
  _tag: "Result" as const,
  value: {
    blockNumber: hex(block.number),
    blockHash: block.hash,
    status,
    gasUsed: hex(20_000),
    effectiveGasPrice: hex(1)
  }
})

layerEach(memory)("a provider that lies about receipts", (it) => {
  it.effect("with another status ends nothing: the providers disagree until it tells the truth", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ providers: 2 })
      const [liar] = world.nodes
      world.chain.mine()
      const block = world.chain.blocks.at(-1) ?? assert.fail("no block")
      liar?.lies.set("eth_getTransactionReceipt", () => receiptIn(block, "0x0"))
      world.chain.mine(6)
      yield* world.poll(4)
      const held = yield* world.transaction(id)
      assert.deepStrictEqual([held.state, held.cause?.code], ["submitted", "providers_disagree"])
      assert.match(held.cause?.figures.host ?? "", /^http:\/\/node-1\.example/)
    })
  )

  it.effect("that it has invented confirms nothing", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ providers: 2 })
      const [liar] = world.nodes
      world.chain.pool = new Map()
      world.chain.mine()
      const block = world.chain.blocks.at(-1) ?? assert.fail("no block")
      world.chain.mine(6)
      liar?.lies.set("eth_getTransactionCount", () => ({ _tag: "Result", value: hex(1) }))
      liar?.lies.set("eth_getTransactionReceipt", () => receiptIn(block, "0x1"))
      yield* world.poll(6)
      assert.notInclude(["confirmed", "failed"], (yield* world.transaction(id)).state)
      liar?.lies.clear()
      yield* Scenes.finish(world)
      assert.strictEqual(world.chain.effects(World.receiver), 1)
    })
  )

  it.effect("cannot keep a transaction open if one of two others agrees", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent({ providers: 3 })
      const [, liar] = world.nodes
      world.chain.mine()
      const block = world.chain.blocks.at(-1) ?? assert.fail("no block")
      liar?.lies.set("eth_getTransactionReceipt", () => receiptIn(block, "0x0"))
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )
})

/** The node has another chain with this many blocks from now on. */
const replaceChain = ({ chain: { blocks }, nodes: [node] }: Scene["world"], length: number) => {
  const [genesis] = blocks
  if (node === undefined || genesis === undefined) return assert.fail("no chain")
  let other = [{ ...genesis, hash: `0x${"dd".repeat(32)}` }] as typeof blocks
  while (other.length < length) other = grow(other)
  node.fork = other
  return node
}

/** Blocks, each with a poll. */
const live = Effect.fnUntraced(function* ({ world }: Scene, blocks: number, each: () => void = () => undefined) {
  for (let block = 0; block < blocks; block++) {
    world.chain.mine()
    each()
    yield* world.poll()
  }
})

layerEach(memory)("a provider that is asked first of three", (it) => {
  it.effect("and lies about a receipt is asked last when the two others contradict it", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent({ providers: 3 })
      const { id, world } = scene
      const [liar] = world.nodes
      world.chain.mine()
      const block = world.chain.blocks.at(-1) ?? assert.fail("no block")
      liar?.lies.set("eth_getTransactionReceipt", () => receiptIn(block, "0x0"))
      yield* live(scene, 10)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )

  it.effect("and has another chain with the transaction is asked last when the two others contradict it", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent({ providers: 3 })
      const { id, world } = scene
      const [liar] = world.nodes
      let fork = world.chain.blocks
      world.chain.mine()
      fork = grow(fork, world.chain.blocks.at(-1)?.transactions)
      yield* live(scene, 10, () => {
        fork = grow(fork)
        if (liar !== undefined) liar.fork = fork
      })
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.chain.effects(World.receiver), 1)
    })
  )

  it.effect("stays first if the two others contradict each other: an operator decides", () =>
    Effect.gen(function* () {
      const scene = yield* Scenes.sent({ providers: 3 })
      const { id, world } = scene
      const [, second] = world.nodes
      const [first] = world.nodes
      world.chain.mine()
      const block = world.chain.blocks.at(-1) ?? assert.fail("no block")
      first?.lies.set("eth_getTransactionReceipt", () => receiptIn(block, "0x0"))
      if (second !== undefined) second.fork = world.chain.blocks
      yield* live(scene, 20, () => {
        if (second?.fork !== undefined) second.fork = reorg(second.fork, 2)
      })
      const { state, cause } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code], ["submitted", "providers_disagree"])
    })
  )
})

layerEach(memory)("a chain that replaces another one", (it) => {
  it.effect("of the same height gets no bytes, and its blocks are no reorganisation", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      world.chain.mine()
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).state, "mined")
      const node = replaceChain(world, world.chain.blocks.length + 1)
      const sends = node.count("eth_sendRawTransaction")
      yield* world.poll(3)
      const { state, cause } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code], ["mined", "chain_changed"])
      assert.strictEqual(node.count("eth_sendRawTransaction"), sends)
    })
  )

  it.effect("and is shorter gets no bytes", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      // The provider has proven itself with the genesis that the lane knows since its first poll.
      yield* world.poll()
      const node = replaceChain(world, 1)
      const sends = node.count("eth_sendRawTransaction")
      // Bytes that the node does not show are sent again after 30 seconds.
      yield* world.poll(40)
      assert.strictEqual((yield* world.transaction(id)).cause?.code, "chain_changed")
      assert.strictEqual(node.count("eth_sendRawTransaction"), sends)
    })
  )
})
