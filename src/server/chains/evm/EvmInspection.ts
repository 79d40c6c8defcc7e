// Inspects an account of an EVM chain.
import { Effect, Result } from "effect"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import * as Inspection from "../Inspection.ts"
import type { Providers } from "../Providers.ts"
import * as RpcFailure from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"
import { chainId, Uint128, Uint64 } from "./EvmCalls.ts"
import { dialect } from "./EvmNodes.ts"

const ofAccount = <A>(method: string, address: string, result: A) => ({ method, params: [address, "latest"], result })

export const inspect: Inspection.Inspect = Effect.fn("EvmInspection.inspect")(function* (
  nodes,
  { relayer, network, urls }
) {
  if (relayer.network_type !== "evm" || network.network_type !== "evm") return yield* Inspection.wrongType
  const { address, network_type, policies } = relayer
  const id = BigInt(network.chain_id)

  const prove = (node: RpcNode) =>
    Effect.flatMap(node.call(chainId), (found) =>
      found === id ? Effect.void : Effect.fail(RpcFailure.otherChain(found, id).of(chainId.method))
    )

  const read = Effect.fnUntraced(function* ({ first }: Providers) {
    const { balance, nonce } = yield* Effect.all(
      {
        nonce: first((node) => node.call(ofAccount("eth_getTransactionCount", address, Uint64))),
        balance: first((node) => node.call(ofAccount("eth_getBalance", address, Uint128)))
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

  return { network_type, ...(yield* Inspection.run({ nodes, dialect, urls, prove }, read)) }
})
