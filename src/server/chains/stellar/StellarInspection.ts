// Inspects an account of a Stellar network, and its providers. It calls RPC servers, not Horizon: a relayer can choose its RPC servers and have
// several of them, while `horizon_url` is optional.
import { Clock, Effect, Predicate, Result } from "effect"
import type { CheckFailure, ProviderReading, StellarLedger } from "../../../domain/chain/ChainSnapshot.ts"
import { maskUrl } from "../../../domain/chain/Rpc.ts"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import type { StellarNetwork } from "../../../domain/network/Network.ts"
import type { LedgerSettings } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { failuresOf, probeProviders, runInspection, tooLow, wrongType } from "../Chains.ts"
import type { ChainKind, InspectionTarget, ProviderQuestions } from "../Chains.ts"
import type { Providers } from "../Providers.ts"
import type { RpcNodes } from "../RpcNodes.ts"
import * as Calls from "./StellarCalls.ts"
import * as StellarAccount from "./StellarAccount.ts"
import { dialect, prove } from "./StellarNodes.ts"
import type { StellarNodes } from "./StellarNodes.ts"

/** Milliseconds for which a check waits for what the network has voted. */
const settingsBudgetMs = 5000

const noAccount: CheckFailure = { type: "SequenceSyncFailed", code: "no_account" }

/** What `probe` asks besides. Ledgers are final when they are closed, and no provider has all of them. */
export const questions: ProviderQuestions = {
  cheap: Calls.network,
  version: { method: "getVersionInfo" },
  versionIn: (result) =>
    Predicate.hasProperty(result, "version") ? `stellar-rpc/${String(result.version)}` : undefined,
  feeHistory: { method: Calls.feeStats.method }
}

/** Notes the protocol that each provider names when it proves itself. */
const noting = (passphrase: string) => {
  const protocols = new Map<string, number>()
  return {
    prove: prove(passphrase, (url, protocol) => void protocols.set(maskUrl(url), protocol)),
    noted: <Reading extends ProviderReading>(readings: ReadonlyArray<Reading>): ReadonlyArray<Reading> =>
      readings.map((reading) => ({ ...reading, ...present("protocol_version", protocols.get(reading.url)) }))
  }
}

const probe: ChainKind["probe"] = Effect.fn("StellarInspection.probe")(function* (nodes, { network, urls, budgetMs }) {
  if (network.network_type !== "stellar") return yield* wrongType
  const { noted, prove } = noting(network.passphrase)
  return noted(yield* probeProviders({ nodes, dialect, urls, prove, budgetMs }, questions))
})

/** The ledgers of the first provider that answers. Undefined: no provider answers; the read of the account reports that. */
const readLedger = Effect.fnUntraced(function* (
  network: typeof StellarNetwork.Type,
  { first }: Providers,
  settings: Effect.Effect<LedgerSettings | undefined>
) {
  const found = yield* Effect.result(first((node) => node.call(Calls.newest)))
  if (Result.isFailure(found)) return undefined
  const { latestLedger, latestLedgerCloseTime, oldestLedger } = found.success
  const now = yield* Clock.currentTimeMillis
  const kept = Math.max(0, latestLedger - oldestLedger + 1) * network.average_blocktime_ms
  const ledger: StellarLedger = {
    age_seconds: Math.floor(now / 1000) - latestLedgerCloseTime,
    ...present("base_reserve", (yield* settings)?.baseReserve),
    ...(network.is_testnet ? {} : { kept_seconds: Math.floor(kept / 1000) })
  }
  return ledger
})

const inspectWith = (stellar: StellarNodes["Service"]) =>
  Effect.fn("StellarInspection.inspect")(function* (
    nodes: RpcNodes["Service"],
    { relayer, network, urls, budgetMs }: InspectionTarget
  ) {
    if (relayer.network_type !== "stellar" || network.network_type !== "stellar") return yield* wrongType
    const { address, policies } = relayer
    const { network_type, passphrase } = network

    const readAccount = Effect.fnUntraced(function* ({ first }: Providers) {
      const call = yield* StellarAccount.get(address)
      const account = yield* Effect.result(first((node) => node.call(call)))
      if (Result.isFailure(account)) return { failures: failuresOf("SequenceSyncFailed", account) }
      if (account.success === null) return { failures: [noAccount] }
      const failures = tooLow(account.success.balance, minBalanceOf(network_type, policies))
      return { ...account.success, failures }
    })

    const known = yield* stellar.providers(urls, passphrase)
    const settings = Effect.timeoutOrElse(known.settings, {
      duration: budgetMs ?? settingsBudgetMs,
      orElse: () => Effect.succeed(undefined)
    })
    const read = (providers: Providers) =>
      Effect.map(
        Effect.all([readAccount(providers), readLedger(network, providers, settings)], { concurrency: "unbounded" }),
        ([account, ledger]) => ({ ...account, ...present("ledger", ledger) })
      )

    const { noted, prove } = noting(passphrase)
    const { providers, ...found } = yield* runInspection({ nodes, dialect, urls, prove, budgetMs }, read)
    return { network_type, ...found, providers: noted(providers) }
  })

/** `stellar`: what the service has read of the settings of networks. */
export const kindOf = (stellar: StellarNodes["Service"]): ChainKind => ({ probe, inspect: inspectWith(stellar) })
