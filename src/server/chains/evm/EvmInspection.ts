// Inspects an account of an EVM chain, and the providers of its network.
import { Effect, Result } from "effect"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import { balanceFailures, failuresOf, probeProviders, runInspection, wrongType } from "../Chains.ts"
import type { ChainKind, ProviderQuestions } from "../Chains.ts"
import type { Providers } from "../Providers.ts"
import { otherChainFailure } from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"
import { balanceOf, blockAt, chainId, feeHistory, Uint64 } from "./EvmCalls.ts"
import { dialect } from "./EvmNodes.ts"

const nonceOf = (address: string) => ({
  method: "eth_getTransactionCount",
  params: [address, "latest"],
  result: Uint64
})

const prove = (id: bigint) => (node: RpcNode) =>
  Effect.flatMap(node.call(chainId), (found) =>
    found === id ? Effect.void : Effect.fail(otherChainFailure(found, id).of(chainId.method))
  )

const nobody = `0x${"0".repeat(40)}`

/** What `probe` asks besides. */
export const questions: ProviderQuestions = {
  cheap: chainId,
  version: { method: "web3_clientVersion", params: [] },
  versionIn: (result) => (typeof result === "string" ? result : undefined),
  finalized: blockAt("finalized"),
  feeHistory: feeHistory("latest"),
  archive: { method: "eth_getBalance", params: [nobody, "0x1"] }
}

const probe: ChainKind["probe"] = Effect.fn("EvmInspection.probe")(function* (nodes, { network, urls, budgetMs }) {
  if (network.network_type !== "evm") return yield* wrongType
  return yield* probeProviders({ nodes, dialect, urls, prove: prove(BigInt(network.chain_id)), budgetMs }, questions)
})

const inspect: ChainKind["inspect"] = Effect.fn("EvmInspection.inspect")(function* (
  nodes,
  { relayer, network, urls, budgetMs }
) {
  if (relayer.network_type !== "evm" || network.network_type !== "evm") return yield* wrongType
  const { address, policies } = relayer
  const { network_type } = network
  const chain = { nodes, dialect, urls, prove: prove(BigInt(network.chain_id)), budgetMs }

  const read = Effect.fnUntraced(function* ({ first }: Providers) {
    const { balance, nonce } = yield* Effect.all(
      {
        nonce: first((node) => node.call(nonceOf(address))),
        balance: first((node) => node.call(balanceOf(address)))
      },
      { mode: "result", concurrency: 2 }
    )
    return {
      ...(Result.isSuccess(nonce) ? { nonce: nonce.success } : {}),
      ...(Result.isSuccess(balance) ? { balance: balance.success } : {}),
      failures: [
        ...failuresOf("NonceSyncFailed", nonce),
        ...balanceFailures(balance, minBalanceOf(network_type, policies))
      ]
    }
  })

  return { network_type, ...(yield* runInspection(chain, read)) }
})

export const kind: ChainKind = { inspect, probe }
