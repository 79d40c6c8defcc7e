// Who used a nonce, on a real node, with and without the method that finds it directly. Anvil makes blocks by the clock of the machine.
import { Effect } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { keccak256 } from "viem"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { findTaker } from "../../../../src/networks/evm/chain/EvmEvidence.ts"
import { sendBytes } from "../../../../src/networks/evm/chain/EvmNodes.ts"
import type { RpcNode } from "../../../../src/server/chains/RpcNode.ts"
import * as Anvil from "../../../../testkit/Anvil.ts"
import { urls } from "../../../server/chains/fixtures.ts"
import { paramsOf } from "../../../server/lanes/fake/Node.ts"
import { make, transfer } from "./fixtures.ts"

const receiver = `0x${"cd".repeat(20)}` as const
const [gwei, ether] = [10n ** 9n, 10n ** 18n] as const

const newAccount = () => privateKeyToAccount(generatePrivateKey())

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
      for (const nonce of [0, 1, 2, 3]) yield* providers.broadcast(sendBytes(yield* transfer(nonce)))
      yield* Effect.repeat(anvil.call("eth_blockNumber", []), { until: (height) => height === "0x4" })
      const wanted = { address: Anvil.funded, nonce: 2, hashes: [`0x${"11".repeat(32)}`], finality: 0 }
      const find = (way: (node: RpcNode) => RpcNode) =>
        providers.first((node) => findTaker(providers, way(node), wanted, 4))

      for (const way of [(node: RpcNode) => node, withoutMethod]) {
        const taker = yield* find(way)
        assert.strictEqual(taker._tag, "Fetched")
        if (taker._tag !== "Fetched") return
        assert.deepInclude(taker, { sender: Anvil.funded, nonce: 2, block: 3, second: "not_configured" })
        assert.deepInclude(taker.call, { to: receiver, value: 1n, data: "0x" })
      }
      assert.strictEqual((yield* find(withoutState))._tag, "NotFound")
      const { transactions } = Object(yield* anvil.call("eth_getBlockByNumber", ["0x3", false]))
      const known = { ...wanted, hashes: [String(transactions[0])] }
      const unable = yield* providers.first((node) => findTaker(providers, withoutState(node), known, 4))
      assert.strictEqual(unable._tag, "Behind", "the node has a receipt of an attempt")
    })
  )

  it.live("finds the authorization that used a nonce, and takes none of another account for it", () =>
    Effect.gen(function* () {
      const anvil = yield* Anvil.start({ more: ["--hardfork", "prague"] })
      const { nodes } = yield* make
      const providers = yield* nodes.providers(urls(anvil.url), { chainId: 31337 })
      const [authority, sponsor, sender] = [newAccount(), newAccount(), newAccount()]
      for (const { address } of [sponsor, sender]) yield* anvil.fund(address, ether)
      const authorization = yield* Effect.promise(() =>
        authority.signAuthorization({ chainId: 31337, address: receiver, nonce: 0 })
      )
      yield* anvil.call("evm_setAutomine", [false])
      const usual = {
        chainId: 31337,
        nonce: 0,
        to: receiver,
        gas: 100_000n,
        maxFeePerGas: 10n * gwei,
        maxPriorityFeePerGas: gwei
      }
      const sponsored = yield* Effect.promise(() =>
        sponsor.signTransaction({ ...usual, authorizationList: [authorization] })
      )
      const plain = yield* Effect.promise(() => sender.signTransaction(usual))
      const sent = [sponsored, plain]
      for (const raw of sent) yield* anvil.call("eth_sendRawTransaction", [raw])
      yield* anvil.call("evm_mine", [])
      const { transactions } = Object(yield* anvil.call("eth_getBlockByNumber", ["0x1", false]))
      assert.deepStrictEqual(
        transactions,
        sent.map((raw) => keccak256(raw))
      )
      const find = ({ address }: { readonly address: string }) => {
        const wanted = { address: address.toLowerCase(), nonce: 0, hashes: [], finality: 0 }
        return providers.first((node) => findTaker(providers, withoutMethod(node), wanted, 1))
      }
      assert.deepInclude(yield* find(authority), { _tag: "Authorized", block: 1 })
      assert.deepInclude(yield* find(sender), { _tag: "Fetched", sender: sender.address.toLowerCase(), block: 1 })
    })
  )
})
