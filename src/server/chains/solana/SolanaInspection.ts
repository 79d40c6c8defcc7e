// Inspects an account of a Solana cluster, and the providers of its network. An account that does not exist has a balance of 0.
import { Effect, Predicate, Result, Schema } from "effect"
import { Uint64 } from "../../../domain/chain/Amount.ts"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import type { Questions } from "../Facts.ts"
import * as Inspection from "../Inspection.ts"
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
export const questions: Questions = {
  cheap: genesisHash,
  version: { method: "getVersion" },
  versionIn: (result) =>
    Predicate.hasProperty(result, "solana-core") ? `solana-core/${String(result["solana-core"])}` : undefined,
  finalized: { method: "getSlot", params: [{ commitment: "finalized" }] },
  feeHistory: { method: "getRecentPrioritizationFees", params: [[]] },
  archive: { method: "getFirstAvailableBlock" },
  isArchive: (result) => typeof result === "number" && result <= firstSlots
}

const probe: Inspection.Kind["probe"] = Effect.fn("SolanaInspection.probe")(function* (
  nodes,
  { network, urls, budgetMs }
) {
  if (network.network_type !== "solana") return yield* Inspection.wrongType
  return yield* Inspection.probe({ nodes, dialect, urls, prove, budgetMs }, questions)
})

const inspect: Inspection.Kind["inspect"] = Effect.fn("SolanaInspection.inspect")(function* (
  nodes,
  { relayer, network, urls, budgetMs }
) {
  if (relayer.network_type !== "solana" || network.network_type !== "solana") return yield* Inspection.wrongType
  const { address, policies } = relayer
  const { network_type } = network

  const read = Effect.fnUntraced(function* ({ first }: Providers) {
    const account = yield* Effect.result(first((node) => adapting(node, new Set()).call(balanceOf(address))))
    const balance = Result.map(account, ({ value }) => value)
    return {
      ...(Result.isSuccess(balance) ? { balance: balance.success } : {}),
      failures: Inspection.balanceFailures(balance, minBalanceOf(network_type, policies))
    }
  })

  return { network_type, ...(yield* Inspection.run({ nodes, dialect, urls, prove, budgetMs }, read)) }
})

export const kind: Inspection.Kind = { inspect, probe }
