// What real nodes do that anvil does not: estimates that they refuse, words of their own, hashes for what they do not keep, and
// delegations that come and go while a lane lives.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { privateKeyToAccount } from "viem/accounts"
import { maxFeeOf } from "../../../src/networks/evm/rules/Market.ts"
import * as LaneStep from "../../../src/server/lanes/LaneStep.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { grow } from "../../../src/testkit/chain/Blocks.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import { hex } from "./fake/Hex.ts"
import * as Scenes from "./fake/Scenes.ts"
import * as World from "./fake/World.ts"

const { receiver } = World

type Scene = Effect.Success<ReturnType<typeof World.make>>

const error = (message: string, code = -32_000) => ({ _tag: "RpcError", code, message }) as const

/** A block of others with each poll. */
const live = Effect.fnUntraced(function* (world: Scene, blocks: number) {
  for (let block = 0; block < blocks; block++) {
    world.chain.include([])
    yield* world.poll()
  }
})

const first = ({ nodes: [node] }: Scene) => node ?? assert.fail("no node")

const call = { request: { to: receiver, value: 1n, data: "0x01" } }
const transfer = { request: { to: receiver, value: 7n, gas_limit: 21_000n } }

layerEach(memory)("a call whose estimate a node refuses", (it) => {
  it.effect("is passed by later transactions, says what the node said, and fails after ten minutes", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      first(world).lies.set("eth_estimateGas", () => error("cannot\u0000 do\nthis here"))
      const [id] = yield* world.accept(1, call)
      const [later] = yield* world.accept(1, transfer)
      yield* world.poll()
      const held = yield* world.transaction(id)
      assert.deepStrictEqual([held.state, held.cause?.code], ["pending", "call_not_estimated"])
      assert.strictEqual(held.cause?.figures.error, "cannot do this here")
      assert.strictEqual((yield* world.transaction(later)).state, "submitted")
      yield* Scenes.finish(world, 1)
      yield* TestClock.adjust("10 minutes")
      yield* world.poll()
      const ended = yield* world.transaction(id)
      assert.deepStrictEqual([ended.state, ended.cause?.code], ["failed", "call_not_estimated"])
      assert.deepStrictEqual([world.chain.effects(receiver), world.chain.effects(receiver, 7n)], [0, 1])
    })
  )

  it.effect("gets the gas that another provider estimates", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      first(world).lies.set("eth_estimateGas", () => error("Internal error", -32_603))
      const [id] = yield* world.accept(1, call)
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).attempts[0]?.offer.gasLimit, 36_000n)
    })
  )

  it.effect("because the provider has too much to do asks the next one, and keeps its turn if there is none", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      first(world).lies.set("eth_estimateGas", () => error("slow down", -32_005))
      const [id] = yield* world.accept(1, call)
      const [later] = yield* world.accept(1, transfer)
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).cause?.code, "providers_unavailable")
      assert.strictEqual((yield* world.transaction(later)).state, "pending")
      yield* live(world, 16)
      assert.strictEqual((yield* world.transaction(id)).cause?.code, "call_not_estimated")
      assert.strictEqual((yield* world.transaction(later)).state, "submitted")
      first(world).lies.clear()
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )

  for (const [node, message] of [
    ["Kaia 2.2.1", "VM error occurs while running smart contract"],
    ["Besu", "Transaction processing could not be completed due to an exception"],
    ["Cosmos evmd", "rpc error: code = Unknown desc = invalid opcode: INVALID"],
    ["Tempo", "tempo transaction error: value transfer not allowed"]
  ] as const) {
    it.effect(`in the words of ${node} for a call that the EVM stops fails at once, and alone`, () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        first(world).lies.set("eth_estimateGas", () => error(message, node === "Tempo" ? -32_603 : -32_000))
        const [id] = yield* world.accept(1, call)
        const [later] = yield* world.accept(1, transfer)
        yield* world.poll()
        const { cause, state } = yield* world.transaction(id)
        assert.deepStrictEqual([state, cause?.code, cause?.figures.revert_reason], ["failed", "would_revert", message])
        assert.strictEqual((yield* world.transaction(later)).state, "submitted")
      })
    )
  }

  for (const [node, message] of [
    ["Kaia 2.2.1", "err: insufficient balance for transfer (supplied gas 30000000)"],
    ["Cosmos evmd", "rpc error: code = Unknown desc = insufficient balance for transfer"]
  ] as const) {
    it.effect(`in the words of ${node} for missing funds waits for funds`, () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        first(world).lies.set("eth_estimateGas", () => error(message))
        world.chain.balance = 5n
        const [id] = yield* world.accept(1, { request: { to: receiver, value: 6n } })
        yield* world.poll()
        assert.strictEqual((yield* world.transaction(id)).cause?.code, "insufficient_funds")
      })
    )
  }
})

const words = "Sender account is on a list of somebody"

layerEach(memory)("a refusal in words that the service does not know", (it) => {
  it.effect("is kept with the attempt, raises no price, holds the lane after three, and a cancel ends it", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      let isRefusing = true
      for (const { lies } of world.nodes) {
        lies.set("eth_sendRawTransaction", () => (isRefusing ? error(words, -32_007) : undefined))
      }
      const [id] = yield* world.accept()
      const [later] = yield* world.accept(1, transfer)
      yield* live(world, 60)
      const { attempts, cause } = yield* world.transaction(id)
      assert.lengthOf(attempts, 1)
      assert.deepInclude(attempts[0], { outcome: "refused" })
      assert.deepInclude(attempts[0]?.refusal, { class: "unknown", words })
      assert.strictEqual(cause?.code, "refused_in_unknown_words")
      assert.strictEqual(cause?.figures.error, words)
      // What was accepted since gets no nonce that would have to be cleared as well.
      const [newest] = yield* world.accept(1, transfer)
      yield* live(world, 3)
      assert.deepInclude(yield* world.transaction(newest), { state: "pending", attempts: [] })
      yield* (yield* Ledger).cancel(1, id)
      isRefusing = false
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "canceled")
      for (const one of [later, newest]) assert.strictEqual((yield* world.transaction(one)).state, "confirmed")
      assert.deepStrictEqual([world.chain.effects(receiver), world.chain.effects(receiver, 7n)], [0, 2])
    })
  )

  it.effect("ends with the first node that accepts the same bytes", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      first(world).lies.set("eth_sendRawTransaction", () => error(words))
      const [id] = yield* world.accept()
      yield* live(world, 10)
      assert.strictEqual((yield* world.transaction(id)).cause?.code, "refused_in_unknown_words")
      first(world).lies.clear()
      yield* TestClock.adjust("30 seconds")
      yield* Scenes.finish(world)
      const { attempts, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, attempts.length], ["confirmed", 1])
    })
  )
})

/** The node answers with a hash, and keeps one transaction of the account alone: the pool of geth 1.17 for a delegated account. */
const keepsOne = (world: Scene): void => {
  first(world).lies.set("eth_sendRawTransaction", () =>
    world.chain.pool.size > 0 ? { _tag: "Result", value: hex(1) } : undefined
  )
}

const delegation = `0xef0100${"11".repeat(20)}`

layerEach(memory)("a node that accepts what it does not keep", (it) => {
  it.effect("gets the same bytes again at the same price, and is named after the second time", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      world.chain.forget()
      first(world).lies.set("eth_sendRawTransaction", () => ({ _tag: "Result", value: hex(1) }))
      yield* live(world, 3)
      assert.strictEqual((yield* world.transaction(id)).cause?.code, "in_pool")
      yield* live(world, 60)
      const { attempts, cause } = yield* world.transaction(id)
      assert.strictEqual(cause?.code, "dropped_by_node")
      assert.lengthOf(attempts, 1)
      // Two polls miss the bytes before each send.
      assert.isAtMost(attempts[0]?.sends ?? 0, 64 / 2)
      first(world).lies.clear()
      yield* Scenes.finish(world)
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )

  it.effect("gets a higher price all the same if no block can take the one that it has", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      world.chain.forget()
      first(world).lies.set("eth_sendRawTransaction", () => ({ _tag: "Result", value: hex(1) }))
      yield* live(world, 9)
      const [{ offer } = assert.fail("no attempt")] = (yield* world.transaction(id)).attempts
      world.chain.baseFee = 2n * maxFeeOf(offer.fees)
      yield* live(world, 9)
      assert.isAbove((yield* world.transaction(id)).attempts.length, 1)
    })
  )

  it.effect("but says that it has them is believed, and not asked again before half a minute", () =>
    Effect.gen(function* () {
      const { id, world } = yield* Scenes.sent()
      // Cosmos evmd: pending transactions are not found by their hash.
      first(world).lies.set("eth_getTransactionByHash", () => ({ _tag: "Result", value: null }))
      first(world).lies.set("eth_sendRawTransaction", () => error("already known"))
      yield* live(world, 3)
      const { attempts } = yield* world.transaction(id)
      yield* live(world, 25)
      const after = yield* world.transaction(id)
      assert.strictEqual(after.attempts[0]?.sends, attempts[0]?.sends)
      assert.notStrictEqual(after.cause?.code, "dropped_by_node")
    })
  )

  it.effect("of an account that is delegated meanwhile gets them one after the other, without a higher price", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      yield* world.accept(1, transfer)
      yield* world.poll()
      yield* Scenes.finish(world)
      world.chain.code = delegation
      keepsOne(world)
      const ids = yield* world.accept(8)
      for (let block = 0; block < 60; block++) {
        world.chain.mine()
        yield* world.poll(3)
        if (block === 1) assert.strictEqual((yield* world.lane).windowSize, 1)
      }
      assert.strictEqual(world.chain.effects(receiver), 8)
      for (const id of ids) assert.lengthOf((yield* world.transaction(id)).attempts, 1)
    })
  )
})

layerEach(memory)("the code of an account", (it) => {
  it.effect(
    "is read with each poll: a delegation makes the window 1, no block makes it more, and it grows when the delegation is gone",
    () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        const [node] = world.nodes
        yield* world.accept(1, { notBefore: 10 ** 12 })
        yield* world.poll(3)
        assert.deepStrictEqual([(yield* world.lane).windowSize, node?.count("eth_getCode")], [64, 3])
        world.chain.code = delegation
        yield* world.poll()
        assert.deepStrictEqual([(yield* world.lane).windowSize, node?.count("eth_getCode")], [1, 4])
        yield* world.accept(4)
        yield* world.poll()
        for (let block = 0; block < 3; block++) {
          assert.strictEqual(world.chain.pool.size, 1)
          world.chain.mine()
          yield* world.poll()
          yield* world.accept()
          // A step between two polls.
          yield* LaneStep.run(world.context ?? assert.fail("no lane is held"))
        }
        world.chain.code = "0x"
        yield* Scenes.finish(world, 1)
        yield* world.poll()
        yield* world.accept()
        yield* world.poll()
        world.chain.mine()
        yield* world.poll(2)
        assert.isAbove((yield* world.lane).windowSize, 1)
      })
  )
})

layerEach(memory)("a nonce that an authorization of the account used, under a transaction in flight", (it) => {
  it.effect(
    "is proven by the chain, also with one URL: the request gets the next nonce, and no operator is asked",
    () =>
      Effect.gen(function* () {
        const { id, world } = yield* Scenes.sent()
        const node = first(world)
        const account = privateKeyToAccount(world.key)
        const sponsor = privateKeyToAccount(`0x${"43".repeat(32)}`)
        const authorization = yield* Effect.promise(() =>
          account.signAuthorization({ chainId: 31_337, address: receiver, nonce: 0 })
        )
        const at = world.chain.blocks.length
        const { r, s, yParity = 0, address, chainId, nonce } = authorization
        const sponsored = {
          hash: hex(1),
          type: "0x4",
          nonce: "0x9",
          from: sponsor.address,
          to: receiver,
          value: "0x0",
          input: "0x",
          gas: hex(100_000),
          maxFeePerGas: hex(1),
          maxPriorityFeePerGas: hex(1),
          chainId: hex(31_337),
          accessList: [],
          authorizationList: [{ chainId: hex(chainId), address, nonce: hex(nonce), yParity: hex(yParity), r, s }],
          r,
          s,
          yParity: "0x0",
          blockNumber: hex(at),
          blockHash: null
        }
        world.chain.forget()
        world.chain.blocks = grow(world.chain.blocks)
        const own = (height: number) =>
          world.chain.blocks.slice(0, height + 1).reduce((count, block) => count + block.transactions.length, 0)
        // The authorization has used nonce 0 in the block at this height.
        node.lies.set("eth_getTransactionCount", ([, tag]) => {
          const height = tag === "latest" ? node.head() : Number(tag)
          return { _tag: "Result", value: hex(own(height) + (height >= at ? 1 : 0)) }
        })
        node.lies.set("eth_getTransactionBySenderAndNonce", () => error("no such method", -32_601))
        node.lies.set("eth_getBlockByNumber", ([tag, isFull]) => {
          const block = world.chain.blocks[at]
          if (tag !== hex(at) || isFull !== true || block === undefined) return undefined
          const { hash, number } = block
          const parentHash = world.chain.blocks[at - 1]?.hash
          return { _tag: "Result", value: { number: hex(number), hash, parentHash, transactions: [sponsored] } }
        })
        for (let block = 0; block < 4; block++) {
          world.chain.include([])
          yield* world.poll()
          assert.notStrictEqual((yield* world.transaction(id)).cause?.code, "nonce_taken_unproven")
        }
        const again = yield* world.transaction(id)
        assert.deepStrictEqual(
          [again.state, again.nonce, again.attempts.length, again.restored],
          ["submitted", 1, 2, false]
        )
      })
  )
})
