// Inspects an account of an EVM chain.
import { Effect, Result } from "effect"
import type { EvmNetwork } from "../../domain/network/Network.ts"
import type { EvmRelayer } from "../../domain/relayer/Relayer.ts"
import { minBalanceOf } from "../../domain/health/Funding.ts"
import * as CheckResult from "./CheckResult.ts"
import type { ProviderPool } from "./ProviderPool.ts"
import * as Quantity from "./Quantity.ts"

const chainId = { method: "eth_chainId", params: [], result: Quantity.Uint64 }

const ofAccount = <A>(method: string, address: string, result: A) => ({ method, params: [address, "latest"], result })

export const inspect = Effect.fn("EvmChain.inspect")(function* (
  pool: ProviderPool,
  { address, policies }: typeof EvmRelayer.Type,
  { chain_id }: typeof EvmNetwork.Type
) {
  const network_type = "evm" as const
  const probed = yield* Effect.result(pool.probe(chainId, (id) => id === BigInt(chain_id)))
  if (Result.isFailure(probed)) return { network_type, failures: CheckResult.unusable(probed.failure) }
  const { call } = probed.success
  const { balance, nonce } = yield* Effect.all(
    {
      nonce: call(ofAccount("eth_getTransactionCount", address, Quantity.Uint64)),
      balance: call(ofAccount("eth_getBalance", address, Quantity.Uint128))
    },
    { mode: "result", concurrency: 2 }
  )
  return {
    network_type,
    ...(Result.isSuccess(nonce) ? { nonce: nonce.success } : {}),
    ...(Result.isSuccess(balance) ? { balance: balance.success } : {}),
    failures: [
      ...CheckResult.failures("NonceSyncFailed", nonce),
      ...CheckResult.balanceFailures(balance, minBalanceOf(network_type, policies))
    ]
  }
})
