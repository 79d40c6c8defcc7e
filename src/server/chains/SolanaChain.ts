// Inspects an account of a Solana cluster. An account that does not exist has a balance of 0.
import { Effect, Result, Schema } from "effect"
import { Uint64 } from "../../domain/chain/Amount.ts"
import type { SolanaRelayer } from "../../domain/relayer/Relayer.ts"
import { minBalanceOf } from "../../domain/health/Funding.ts"
import * as CheckResult from "./CheckResult.ts"
import type { ProviderPool } from "./ProviderPool.ts"

const commitment = { commitment: "confirmed" }

/** 32 bytes in base58. */
const Blockhash = Schema.String.check(Schema.isPattern(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/u, { expected: "a blockhash" }))

const latestBlockhash = {
  method: "getLatestBlockhash",
  params: [commitment],
  result: Schema.Struct({ value: Schema.Struct({ blockhash: Blockhash }) })
}

const balanceOf = (address: string) => ({
  method: "getBalance",
  params: [address, commitment],
  result: Schema.Struct({ value: Uint64 })
})

export const inspect = Effect.fn("SolanaChain.inspect")(function* (
  pool: ProviderPool,
  { address, policies }: typeof SolanaRelayer.Type
) {
  const network_type = "solana" as const
  const probed = yield* Effect.result(pool.probe(latestBlockhash, () => true))
  if (Result.isFailure(probed)) return { network_type, failures: CheckResult.unusable(probed.failure) }
  const account = yield* Effect.result(probed.success.call(balanceOf(address)))
  const balance = Result.map(account, ({ value }) => value)
  return {
    network_type,
    ...(Result.isSuccess(balance) ? { balance: balance.success } : {}),
    failures: CheckResult.balanceFailures(balance, minBalanceOf(network_type, policies))
  }
})
