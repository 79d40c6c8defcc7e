// Inspects an account of an EVM chain, and the providers of its network.
import { Effect, Result } from "effect"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import * as Inspection from "../Inspection.ts"
import type { Providers } from "../Providers.ts"
import * as RpcFailure from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"
import type { Questions } from "../Facts.ts"
import { balanceOf, blockAt, chainId, feeHistory, Uint64 } from "./EvmCalls.ts"
import { dialect } from "./EvmNodes.ts"

const nonceOf = (address: string) => ({
  method: "eth_getTransactionCount",
  params: [address, "latest"],
  result: Uint64
})

const prove = (id: bigint) => (node: RpcNode) =>
  Effect.flatMap(node.call(chainId), (found) =>
    found === id ? Effect.void : Effect.fail(RpcFailure.otherChain(found, id).of(chainId.method))
  )

const nobody = `0x${"0".repeat(40)}`

/** What `probe` asks besides. */
export const questions: Questions = {
  cheap: chainId,
  version: { method: "web3_clientVersion", params: [] },
  versionIn: (result) => (typeof result === "string" ? result : undefined),
  finalized: blockAt("finalized"),
  feeHistory: feeHistory("latest"),
  archive: { method: "eth_getBalance", params: [nobody, "0x1"] }
}

const probe: Inspection.Kind["probe"] = Effect.fn("EvmInspection.probe")(function* (
  nodes,
  { network, urls, budgetMs }
) {
  if (network.network_type !== "evm") return yield* Inspection.wrongType
  return yield* Inspection.probe({ nodes, dialect, urls, prove: prove(BigInt(network.chain_id)), budgetMs }, questions)
})

const inspect: Inspection.Kind["inspect"] = Effect.fn("EvmInspection.inspect")(function* (
  nodes,
  { relayer, network, urls, budgetMs }
) {
  if (relayer.network_type !== "evm" || network.network_type !== "evm") return yield* Inspection.wrongType
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
        ...Inspection.failures("NonceSyncFailed", nonce),
        ...Inspection.balanceFailures(balance, minBalanceOf(network_type, policies))
      ]
    }
  })

  return { network_type, ...(yield* Inspection.run(chain, read)) }
})

export const kind: Inspection.Kind = { inspect, probe }
