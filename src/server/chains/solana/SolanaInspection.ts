// Inspects an account of a Solana cluster, and the providers of its network. An account that does not exist has a balance of 0.
import { Effect, Predicate, Result, Schema } from "effect"
import { Uint64 } from "../../../domain/chain/Amount.ts"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import { balanceFailures, probeProviders, runInspection, wrongType } from "../Chains.ts"
import type { ChainKind, ProviderQuestions } from "../Chains.ts"
import type { Providers } from "../Providers.ts"
import type { RpcNode } from "../RpcNode.ts"
import { genesisHash, readCommitment } from "./SolanaCalls.ts"
import { adapting, dialect } from "./SolanaNodes.ts"

const commitment = { commitment: readCommitment }

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

/** The first block of some clusters is not in slot 0. */
const firstSlots = 1

const prove = (node: RpcNode) => Effect.asVoid(adapting(node, new Set()).call(latestBlockhash))

/** What `probe` asks besides. */
export const questions: ProviderQuestions = {
  cheap: genesisHash,
  version: { method: "getVersion" },
  versionIn: (result) =>
    Predicate.hasProperty(result, "solana-core") ? `solana-core/${String(result["solana-core"])}` : undefined,
  finalized: { method: "getSlot", params: [{ commitment: "finalized" }] },
  feeHistory: { method: "getRecentPrioritizationFees", params: [[]] },
  archive: { method: "getFirstAvailableBlock" },
  isArchive: (result) => typeof result === "number" && result <= firstSlots
}

const probe: ChainKind["probe"] = Effect.fn("SolanaInspection.probe")(function* (nodes, { network, urls, budgetMs }) {
  if (network.network_type !== "solana") return yield* wrongType
  return yield* probeProviders({ nodes, dialect, urls, prove, budgetMs }, questions)
})

const inspect: ChainKind["inspect"] = Effect.fn("SolanaInspection.inspect")(function* (
  nodes,
  { relayer, network, urls, budgetMs }
) {
  if (relayer.network_type !== "solana" || network.network_type !== "solana") return yield* wrongType
  const { address, policies } = relayer
  const { network_type } = network

  const read = Effect.fnUntraced(function* ({ first }: Providers) {
    const account = yield* Effect.result(first((node) => adapting(node, new Set()).call(balanceOf(address))))
    const balance = Result.map(account, ({ value }) => value)
    return {
      ...(Result.isSuccess(balance) ? { balance: balance.success } : {}),
      failures: balanceFailures(balance, minBalanceOf(network_type, policies))
    }
  })

  return { network_type, ...(yield* runInspection({ nodes, dialect, urls, prove, budgetMs }, read)) }
})

export const kind: ChainKind = { inspect, probe }
