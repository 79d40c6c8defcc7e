// What nodes other than geth and anvil do: a pool that is not shown by hash, and receipts of calls that the EVM stops.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import type { Priced } from "../../../src/networks/evm/rules/Evm.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import { hex } from "./fake/Hex.ts"
import * as Scenes from "./fake/Scenes.ts"
import type * as World from "./fake/World.ts"

type Lane = Effect.Success<ReturnType<typeof World.make>>

const send = "eth_sendRawTransaction"

/** Polls, each after an empty block, and how often bytes were sent in them to the provider at this place. */
const sendsIn = Effect.fnUntraced(function* (world: Lane, polls: number, place = 0) {
  const node = world.nodes[place]
  const before = node?.count(send) ?? 0
  for (let poll = 0; poll < polls; poll++) {
    world.chain.include([])
    yield* world.poll()
  }
  return (node?.count(send) ?? 0) - before
})

layerEach(memory)("a transaction in a pool that the node does not show by hash", (it) => {
  it.effect("is sent again once, until the node says that it has the bytes, and then only after 30 seconds", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.sent()
      const [node] = world.nodes
      node?.lies.set("eth_getTransactionByHash", () => ({ _tag: "Result", value: null }))
      assert.strictEqual(yield* sendsIn(world, 4), 1)
      assert.strictEqual(yield* sendsIn(world, 6), 0)
      world.chain.mine()
      yield* world.accept()
      assert.strictEqual(yield* sendsIn(world, 8), 1, "the next one is sent for the first time, and not again")
    })
  )

  it.effect("is sent again as soon as it is gone, if the node has shown a later one by hash", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.sent()
      const [node] = world.nodes
      node?.lies.set("eth_getTransactionByHash", () => ({ _tag: "Result", value: null }))
      assert.strictEqual(yield* sendsIn(world, 4), 1)
      node?.lies.delete("eth_getTransactionByHash")
      assert.strictEqual(yield* sendsIn(world, 1), 0)
      world.chain.forget()
      assert.strictEqual(yield* sendsIn(world, 3), 1)
    })
  )

  it.effect("hides nothing at another provider, which has the bytes and was not asked for them by hash", () =>
    Effect.gen(function* () {
      const { world } = yield* Scenes.sent({ providers: 2 })
      const [first] = world.nodes
      first?.lies.set("eth_getTransactionByHash", () => ({ _tag: "Result", value: null }))
      first?.lies.set(send, () => ({ _tag: "Result", value: hex(1) }))
      assert.strictEqual(yield* sendsIn(world, 3, 1), 1, "the second one says that it has what the first one misses")
      if (first !== undefined) first.isAway = true
      world.chain.forget()
      assert.strictEqual(yield* sendsIn(world, 3, 1), 1, "and then it loses them")
    })
  )
})

const isPriced = (offer: unknown): offer is Priced => typeof offer === "object" && offer !== null && "gasLimit" in offer

/** Its transaction is mined, fails and uses all gas. `words`: why the call fails, as the node says it. */
const failing = Effect.fnUntraced(function* (words: string | undefined) {
  const { id, world } = yield* Scenes.sent()
  const [node] = world.nodes
  const { attempts } = yield* world.transaction(id)
  const gasLimit = attempts.flatMap(({ offer }) => (isPriced(offer) ? [offer.gasLimit] : []))[0] ?? 0n
  world.chain.mine(1, { isSuccess: false })
  const { number, hash } = world.chain.blocks.at(-1) ?? assert.fail("no block")
  const receipt = { blockNumber: hex(number), blockHash: hash, status: "0x0", gasUsed: hex(gasLimit) }
  node?.lies.set("eth_getTransactionReceipt", () => ({ _tag: "Result", value: receipt }))
  node?.lies.set("eth_call", () =>
    words === undefined ? { _tag: "Result", value: "0x" } : { _tag: "RpcError", code: -32000, message: words }
  )
  return yield* endOf(world, id)
})

const endOf = Effect.fnUntraced(function* (world: Lane, id: TransactionId) {
  for (let block = 0; block < 4; block++) {
    world.chain.include([])
    yield* world.poll()
  }
  const { cause, state } = yield* world.transaction(id)
  return [state, cause?.code, cause?.figures.revert_reason]
})

layerEach(memory)("a transaction that failed and used all of its gas", (it) => {
  for (const [words, code, reason] of [
    ["invalid opcode: INVALID", "reverted", "invalid opcode: INVALID"],
    ["VM error occurs while running smart contract", "reverted", "VM error occurs while running smart contract"],
    ["out of gas", "out_of_gas", "out of gas"],
    ["execution reverted: secret", "reverted", undefined],
    [undefined, "out_of_gas", undefined]
  ] as const) {
    it.effect(`because of “${words ?? "what no node says"}” is ${code}`, () =>
      Effect.map(failing(words), (found) => assert.deepStrictEqual(found, ["failed", code, reason]))
    )
  }
})
