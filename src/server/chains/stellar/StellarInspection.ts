// Inspects an account of a Stellar network, and its providers. It calls RPC servers, not Horizon: a relayer can choose its RPC servers and have
// several of them, while `horizon_url` is optional.
import { Effect, Result } from "effect"
import type { CheckFailure } from "../../../domain/chain/ChainSnapshot.ts"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import * as Inspection from "../Inspection.ts"
import type { Providers } from "../Providers.ts"
import * as StellarAccount from "./StellarAccount.ts"
import { dialect, prove } from "./StellarNodes.ts"

const noAccount: CheckFailure = { type: "SequenceSyncFailed", code: "no_account" }

const probe: Inspection.Kind["probe"] = Effect.fn("StellarInspection.probe")(function* (
  nodes,
  { network, urls, budgetMs }
) {
  if (network.network_type !== "stellar") return yield* Inspection.wrongType
  return yield* Inspection.probe({ nodes, dialect, urls, prove: prove(network.passphrase), budgetMs })
})

const inspect: Inspection.Kind["inspect"] = Effect.fn("StellarInspection.inspect")(function* (
  nodes,
  { relayer, network, urls, budgetMs }
) {
  if (relayer.network_type !== "stellar" || network.network_type !== "stellar") return yield* Inspection.wrongType
  const { address, policies } = relayer
  const { network_type, passphrase } = network

  const read = Effect.fnUntraced(function* ({ first }: Providers) {
    const call = yield* StellarAccount.get(address)
    const account = yield* Effect.result(first((node) => node.call(call)))
    if (Result.isFailure(account)) return { failures: Inspection.failures("SequenceSyncFailed", account) }
    if (account.success === null) return { failures: [noAccount] }
    const failures = Inspection.tooLow(account.success.balance, minBalanceOf(network_type, policies))
    return { ...account.success, failures }
  })

  const chain = { nodes, dialect, urls, prove: prove(passphrase), budgetMs }
  return { network_type, ...(yield* Inspection.run(chain, read)) }
})

export const kind: Inspection.Kind = { inspect, probe }
