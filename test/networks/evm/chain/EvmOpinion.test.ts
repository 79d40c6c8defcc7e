// What is said of a second provider that has no opinion about a receipt: that it has none, or that it did not answer.
import { Effect, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { opinionsOf } from "../../../../src/networks/evm/chain/EvmEvidence.ts"
import type { BlockClaim } from "../../../../src/networks/evm/chain/EvmEvidence.ts"
import { readHead } from "../../../../src/networks/evm/chain/EvmNodes.ts"
import { makeProviders } from "../../../../src/server/chains/Providers.ts"
import { RpcFailure, rpcFailure } from "../../../../src/server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../../src/server/chains/RpcNode.ts"
import { urls } from "../../../server/chains/fixtures.ts"

const hashOf = (height: number) => `0x${String(height).padStart(64, "0")}`

/** A provider with 100 blocks, and its answer to a question for a receipt or for a block by its height. */
const nodeOf = (url: string, receipt: unknown, block: (height: number) => unknown = blockAt): RpcNode => ({
  url,
  call: (call) => {
    const [first] = Array.isArray(call.params) ? call.params : []
    if (call.method === "eth_getTransactionReceipt" && receipt instanceof RpcFailure) {
      return Effect.fail(receipt.of(call.method))
    }
    const height = String(first).startsWith("0x") ? Number(first) : 100
    const found = call.method === "eth_getTransactionReceipt" ? receipt : block(height)
    return Effect.orDie(Schema.decodeUnknownEffect(call.result)(found))
  },
  ask: () => Effect.die("not used"),
  send: () => Effect.die("not used"),
  breaker: Effect.succeed("closed"),
  batchSize: Effect.succeed(1)
})

function blockAt(height: number): unknown {
  return { number: `0x${height.toString(16)}`, hash: hashOf(height), parentHash: hashOf(height - 1) }
}

const claim: BlockClaim = {
  height: 50,
  blockHash: hashOf(50),
  mined: {
    hash: `0x${"ab".repeat(32)}`,
    receipt: {
      height: 50,
      blockHash: hashOf(50),
      isSuccess: true,
      paid: 1n,
      details: { gasUsed: 21_000n, effectiveGasPrice: 1n }
    }
  }
}

/** What is said of the other provider. */
const said = Effect.fnUntraced(function* (other: RpcNode) {
  const first = nodeOf("http://a.example", null)
  const nodes = new Map([first, other].map((node) => [node.url, node]))
  const nodeBy = (url: string) => nodes.get(url) ?? first
  const providers = yield* makeProviders(
    { nodeOf: nodeBy, prove: () => Effect.void },
    urls("http://a.example", "http://b.example")
  )
  const headOf = (node: RpcNode) => readHead(node, 1)
  const silences = { at: yield* headOf(first), stalled: () => undefined, since: new Map<string, number>() }
  const heard = yield* opinionsOf(providers, first, headOf, [claim], silences)
  return heard.get(claim)?.others.map((opinion) => (opinion._tag === "Silent" ? opinion.error : opinion._tag))
})

describe("a second provider without an opinion", () => {
  const refused = rpcFailure("unreachable", "HTTP 500")
  const cases: ReadonlyArray<readonly [string, RpcNode, string]> = [
    ["did not answer", nodeOf("http://b.example", refused), "eth_getTransactionReceipt: HTTP 500"],
    ["has no receipt", nodeOf("http://b.example", null), "it has no receipt of it"],
    [
      "does not show the block",
      nodeOf("http://b.example", null, (height) => (height === 50 ? null : blockAt(height))),
      "it does not show the block"
    ]
  ]
  it.effect.each(cases)("is said to be one that %s", ([, node, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* said(node), [expected])
    })
  )
})
