// Inspects an account of a Stellar network. It calls RPC servers, not Horizon: a relayer can choose its RPC servers and have
// several of them, while `horizon_url` is optional.
import { Effect, Result } from "effect"
import type { CheckFailure } from "../../../domain/chain/ChainSnapshot.ts"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import * as Inspection from "../Inspection.ts"
import type { Providers } from "../Providers.ts"
import * as StellarAccount from "./StellarAccount.ts"
import { dialect, prove } from "./StellarNodes.ts"

const noAccount: CheckFailure = { type: "SequenceSyncFailed", code: "no_account" }

export const inspect: Inspection.Inspect = Effect.fn("StellarInspection.inspect")(function* (
  nodes,
  { relayer, network, urls }
) {
  if (relayer.network_type !== "stellar" || network.network_type !== "stellar") return yield* Inspection.wrongType
  const { address, network_type, policies } = relayer
  const { passphrase } = network

  const read = Effect.fnUntraced(function* ({ first }: Providers) {
    const call = yield* StellarAccount.get(address)
    const account = yield* Effect.result(first((node) => node.call(call)))
    if (Result.isFailure(account)) return { failures: Inspection.failures("SequenceSyncFailed", account) }
    if (account.success === null) return { failures: [noAccount] }
    const failures = Inspection.tooLow(account.success.balance, minBalanceOf(network_type, policies))
    return { ...account.success, failures }
  })

  return { network_type, ...(yield* Inspection.run({ nodes, dialect, urls, prove: prove(passphrase) }, read)) }
})
