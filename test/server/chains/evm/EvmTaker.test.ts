// Who used a nonce, on a real node, with and without the method that finds it directly.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Anvil from "../../../../testkit/Anvil.ts"
import * as EvmNode from "../../../../src/server/chains/evm/EvmNodes.ts"
import * as EvmTaker from "../../../../src/server/chains/evm/EvmTaker.ts"
import type { RpcNode } from "../../../../src/server/chains/RpcNode.ts"
import { paramsOf } from "../../lanes/fake/Node.ts"
import { urls } from "../fixtures.ts"
import { make, transfer } from "./fixtures.ts"

const unknownMethod = { _tag: "RpcError", code: -32601, message: "the method does not exist" } as const

const withoutMethod = (node: RpcNode): RpcNode => ({
  ...node,
  ask: (call) => (call.method === "eth_getTransactionBySenderAndNonce" ? Effect.succeed(unknownMethod) : node.ask(call))
})

/** It has the state of the newest block only: the search for the block fails. */
const withoutState = (node: RpcNode): RpcNode => ({
  ...withoutMethod(node),
  call: (call) => node.call(paramsOf(call)[1] === "0x2" ? { ...call, method: "unknown" } : call)
})

describe("EvmTaker", () => {
  it.live("finds the transaction that used a nonce, and its sender", () =>
    Effect.gen(function* () {
      const anvil = yield* Anvil.start()
      const { nodes } = yield* make
      const providers = yield* nodes.providers(urls(anvil.url), { chainId: 31337 })
      for (const nonce of [0, 1, 2, 3]) yield* providers.broadcast(EvmNode.send(yield* transfer(nonce)))
      const wanted = { address: Anvil.funded, nonce: 2, hashes: [`0x${"11".repeat(32)}`], finality: 0 }
      const find = (way: (node: RpcNode) => RpcNode) =>
        providers.first((node) => EvmTaker.find(providers, way(node), wanted, 4))

      for (const way of [(node: RpcNode) => node, withoutMethod]) {
        const taker = yield* find(way)
        assert.strictEqual(taker._tag, "Fetched")
        if (taker._tag !== "Fetched") return
        assert.deepInclude(taker, { sender: Anvil.funded, nonce: 2, block: 3, second: "not_configured" })
        assert.deepInclude(taker.call, { to: `0x${"cd".repeat(20)}`, value: 1n, data: "0x" })
      }
      assert.strictEqual((yield* find(withoutState))._tag, "NotFound")
    })
  )
})
