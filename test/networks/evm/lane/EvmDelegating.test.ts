// The code that an account had at a block, asked of nodes that have dropped the state of that block.
import { Effect } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { codeAt } from "../../../../src/networks/evm/lane/EvmDelegating.ts"
import * as Chain from "../../../server/lanes/fake/Chain.ts"
import * as Node from "../../../server/lanes/fake/Node.ts"
import * as World from "../../../server/lanes/fake/World.ts"

const pruned = { _tag: "RpcError", code: -32000, message: "missing trie node" } as const

const code = `0xef0100${"de".repeat(20)}`
const [height, head] = [3, 5]

/** A node with the states of the newest block alone: the code and the count there. */
const nodeWith = (chain: Chain.Chain, url: string, shown: { readonly code: string; readonly count: number }) => {
  const node = Node.make(chain, url)
  const newest = (value: string) => (params: ReadonlyArray<unknown>) =>
    params[1] === `0x${head.toString(16)}` ? ({ _tag: "Result", value } as const) : pruned
  node.lies.set("eth_getCode", newest(shown.code))
  node.lies.set("eth_getTransactionCount", newest(`0x${shown.count.toString(16)}`))
  return node
}

type Shown = Parameters<typeof nodeWith>[2]

const find = Effect.fnUntraced(function* (...shown: ReadonlyArray<Shown>) {
  const chain = Chain.make()
  const nodes = shown.map((one, index) => nodeWith(chain, `http://node${index}.example`, one))
  const providers = yield* World.providersInOrder(nodes)
  return yield* codeAt(providers, World.address, { height, expected: code, nonce: 5, count: 6, head })
})

describe("the code of an account at a block whose state is dropped", () => {
  it.effect("is that of the newest block if the account has used no nonce since", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* find({ code, count: 6 }), { code })
      assert.deepStrictEqual(yield* find({ code: "0x", count: 6 }), { code: "0x" })
      assert.deepStrictEqual(yield* find({ code: "0x", count: 6 }, { code: "0x", count: 6 }), { code: "0x" })
    })
  )

  it.effect("is not known if the account has used a nonce since", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* find({ code: "0x", count: 7 }, { code: "0x", count: 7 }), {})
    })
  )

  it.effect("is not that of a state in which the account has not used the nonce", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* find({ code: "0x", count: 5 }), {})
      assert.deepStrictEqual(yield* find({ code: "0x", count: 5 }, { code, count: 6 }), { code })
    })
  )

  it.effect("is another one than expected only if a second provider has the same", () =>
    Effect.gen(function* () {
      const missing = { doubt: "second_provider_missing" } as const
      assert.deepStrictEqual(yield* find({ code: "0x", count: 6 }, { code: "0x", count: 7 }), missing)
      const [none, third] = [{ code: "0x", count: 6 } as const, { code: "0x6000", count: 6 } as const]
      assert.deepStrictEqual(yield* find(none, third), { doubt: "providers_disagree" })
      assert.deepStrictEqual(yield* find(none, third, none), { code: "0x" })
    })
  )

  it.effect("is the expected one if any provider shows it, although the first one shows another", () =>
    Effect.gen(function* () {
      const none = { code: "0x", count: 6 } as const
      assert.deepStrictEqual(yield* find(none, { code, count: 6 }), { code })
      assert.deepStrictEqual(yield* find(none, { code: "0x6000", count: 6 }, { code, count: 6 }), { code })
      assert.deepStrictEqual(yield* find({ code, count: 6 }, none, none), { code })
    })
  )
})
