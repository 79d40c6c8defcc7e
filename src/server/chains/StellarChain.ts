// Inspects an account of a Stellar network. It calls RPC servers, not Horizon: a relayer can choose its RPC servers and have
// several of them, while `horizon_url` is optional.
import { Effect, Result, Schema } from "effect"
import type { StellarNetwork } from "../../domain/network/Network.ts"
import type { CheckFailure } from "../../domain/chain/ChainSnapshot.ts"
import type { StellarRelayer } from "../../domain/relayer/Relayer.ts"
import { minBalanceOf } from "../../domain/health/Funding.ts"
import * as CheckResult from "./CheckResult.ts"
import type { ProviderPool } from "./ProviderPool.ts"
import * as StellarAccount from "./StellarAccount.ts"

const network = { method: "getNetwork", result: Schema.Struct({ passphrase: Schema.String }) }

const noAccount: CheckFailure = { type: "SequenceSyncFailed", code: "no_account" }

export const inspect = Effect.fn("StellarChain.inspect")(function* (
  pool: ProviderPool,
  { address, policies }: typeof StellarRelayer.Type,
  { passphrase }: typeof StellarNetwork.Type
) {
  const network_type = "stellar" as const
  const probed = yield* Effect.result(pool.probe(network, (answer) => answer.passphrase === passphrase))
  if (Result.isFailure(probed)) return { network_type, failures: CheckResult.unusable(probed.failure) }
  const account = yield* Effect.result(probed.success.call(yield* StellarAccount.get(address)))
  if (Result.isFailure(account)) return { network_type, failures: CheckResult.failures("SequenceSyncFailed", account) }
  if (account.success === null) return { network_type, failures: [noAccount] }
  const failures = CheckResult.tooLow(account.success.balance, minBalanceOf(network_type, policies))
  return { network_type, ...account.success, failures }
})
