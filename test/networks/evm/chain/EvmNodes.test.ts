// Providers of an evm chain: batches, errors of nodes, and which provider is believed.
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { assert, describe, it } from "@effect/vitest"
import * as EvmCalls from "../../../../src/networks/evm/chain/EvmCalls.ts"
import { agreedEstimate } from "../../../../src/networks/evm/chain/EvmCalls.ts"
import { sendBytes } from "../../../../src/networks/evm/chain/EvmNodes.ts"
import type { RpcNode } from "../../../../src/server/chains/RpcNode.ts"
import * as Anvil from "../../../../testkit/Anvil.ts"
import * as EvmRpc from "../../../../testkit/EvmRpc.ts"
import { urls } from "../../../server/chains/fixtures.ts"
import { make, transfer } from "./fixtures.ts"

const identity = { chainId: 31337 }
const other = `0x${"cd".repeat(20)}`

/** Before every reading of a head. */
const yesterday = -1

describe("EvmNodes", () => {
  it.effect("reads and sends on anvil, in batches", () =>
    Effect.gen(function* () {
      const anvil = yield* Anvil.start()
      const { nodes, breakers } = yield* make
      const providers = yield* nodes.providers(urls(anvil.url), identity)

      const bytes = yield* transfer(0)
      assert.deepStrictEqual(yield* providers.broadcast(sendBytes(bytes)), [{ _tag: "Hash" }])
      // anvil answers before the transaction is in its block.
      yield* Effect.repeat(anvil.call("eth_getTransactionCount", [Anvil.funded, "latest"]), {
        until: (count) => count === "0x1"
      })
      const again = yield* providers.broadcast(sendBytes(yield* transfer(0, 20n ** 9n)))
      assert.deepInclude(again[0], { _tag: "RpcError", message: "nonce too low" })
      const poor = yield* providers.broadcast(sendBytes(yield* transfer(1, 10n ** 22n)))
      assert.match(JSON.stringify(poor), /insufficient funds/i)
      assert.strictEqual(yield* breakers.of(anvil.url).state, "closed")

      const seen = yield* providers.first((node) =>
        Effect.all(
          {
            head: node.call(EvmCalls.blockAt("latest")),
            count: node.call(EvmCalls.countAt(Anvil.funded, "latest")),
            before: node.call(EvmCalls.countAt(Anvil.funded, 0)),
            balance: node.call(EvmCalls.balanceOf(other)),
            code: node.call(EvmCalls.codeOf(other)),
            absent: node.call(EvmCalls.receiptOf(`0x${"11".repeat(32)}`)),
            gas: agreedEstimate(providers, node, { from: Anvil.funded, to: other, value: 1n })
          },
          { concurrency: "unbounded" }
        )
      )
      assert.strictEqual(seen.head?.number, 1)
      assert.deepInclude(seen, { count: 1, before: 0, balance: 1n, code: "0x", absent: null })
      assert.deepStrictEqual(seen.gas, { _tag: "Gas", gas: 21_000n })
      const market = yield* providers.first((node) =>
        nodes.markets.at(
          { node, head: { number: 1, hash: "head" } },
          {
            chainId: 31337,
            blockTime: 1000,
            finality: 1,
            finalityByOne: 3_600_000,
            window: 16,
            minimumTip: 0n,
            hasMempool: true,
            isEip1559: true,
            isTestnet: true,
            hasDataFeeOracle: false,
            hasAuthorizations: false
          }
        )
      )
      assert.isAbove(Number(market.baseFee), 0)
      assert.strictEqual(
        yield* providers.genesis,
        (yield* providers.first((node) => node.call(EvmCalls.blockAt(0))))?.hash
      )
    })
  )

  it.effect("asks a node that takes no batches call by call", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make({ chainId: 31337n })
      server.refuseBatches()
      server.results.set("eth_getBlockByNumber", () => ({ number: "0x0", hash: "0xAA" }))
      const { nodes } = yield* make
      const providers = yield* nodes.providers(urls(server.url), identity)
      const count = yield* providers.first((node) => node.call(EvmCalls.countAt(other, "latest")))
      assert.strictEqual(count, 7)
      assert.strictEqual(yield* providers.genesis, "0xaa")
      assert.strictEqual(server.batches(), 1)
    })
  )

  it.effect("asks a provider later that has shown no new block for 30 seconds", () =>
    Effect.gen(function* () {
      const servers = yield* Effect.all([EvmRpc.make({ chainId: 31337n }), EvmRpc.make({ chainId: 31337n })])
      for (const server of servers) server.results.set("eth_getBlockByNumber", () => ({ number: "0x0", hash: "0xaa" }))
      const { nodes } = yield* make
      const providers = yield* nodes.providers(urls(...servers.map(({ url }) => url)), identity)
      const lookAt = (node: RpcNode) =>
        Effect.as(nodes.heads.at(node, { finality: 1, blockTime: 1000 }, yesterday), node)
      const first = yield* providers.first(lookAt)
      for (let look = 0; look < 2; look++) yield* Effect.andThen(TestClock.adjust("15 seconds"), lookAt(first))
      const next = yield* providers.first((node) => Effect.succeed(node.url))
      assert.notStrictEqual(next, first.url)
    })
  )

  it.effect("believes no provider of another chain, and sends it nothing", () =>
    Effect.gen(function* () {
      const [right, wrong] = yield* Effect.all([Anvil.start(), Anvil.start({ chainId: 1337 })])
      const { nodes } = yield* make
      const alone = yield* nodes.providers(urls(wrong.url), identity)
      const failed = yield* Effect.flip(alone.first((node) => node.call(EvmCalls.chainId)))
      assert.strictEqual(failed.code, "mismatch")
      assert.deepStrictEqual(yield* alone.broadcast(sendBytes(yield* transfer(0))), [])

      const both = yield* nodes.providers(urls(wrong.url, right.url), identity)
      const used = yield* both.first((node) => Effect.as(node.call(EvmCalls.chainId), node))
      assert.strictEqual(used.url, right.url)
      assert.strictEqual((yield* both.broadcast(sendBytes(yield* transfer(0)))).length, 1)
      assert.isUndefined(yield* both.second(used, (node) => node.call(EvmCalls.chainId)))

      const genesis = yield* both.genesis
      const begunAnew = yield* Anvil.start({ timestamp: 1_700_000_000 })
      const anew = yield* nodes.providers(urls(begunAnew.url), { ...identity, ...(genesis ? { genesis } : {}) })
      assert.strictEqual((yield* Effect.flip(anew.first((node) => node.call(EvmCalls.chainId)))).code, "mismatch")
    })
  )
})
