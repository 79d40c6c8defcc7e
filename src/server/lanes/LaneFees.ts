// What API keys have left for fees, when signatures are decided. The commit of a signature checks it again, under a lock.
import { Effect } from "effect"
import { ApiKeys } from "../access/ApiKeys.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { FeeLimit } from "../ledger/NewTransaction.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"

export interface FeeBudget {
  /** What the transaction may cost in fees in all, in the smallest unit of its chain. Undefined: its API key has no limit. */
  maximumOf(stored: StoredTransaction): bigint | undefined
  /** The limits of its API key and of the keys that this one descends from. */
  limitsOf(stored: StoredTransaction): ReadonlyArray<FeeLimit>
}

export interface LaneFees {
  /** `type`: of the network of the lane. */
  budgetOf(type: string, open: ReadonlyArray<StoredTransaction>): Effect.Effect<FeeBudget>
}

const hasPlace = ({ transaction }: StoredTransaction): boolean => transaction.place !== undefined

const byNumber = (one: StoredTransaction, other: StoredTransaction): number =>
  one.transaction.number - other.transaction.number

/**
 * Each transaction may cost what was counted for it when it was accepted or signed. What a limit leaves is shared by two: the
 * oldest transaction with a place may use it for a bump, and the oldest one without for its first signature. `left`: by key.
 */
const shares = (
  rows: ReadonlyArray<StoredTransaction>,
  limitsOf: FeeBudget["limitsOf"],
  left: ReadonlyMap<string, bigint>
): ReadonlyMap<number, bigint> => {
  const kinds = [rows.filter(hasPlace), rows.filter((row) => !hasPlace(row))]
  const sharing = (keyId: string) =>
    kinds.filter((kind) => kind.some((row) => limitsOf(row).some((limit) => limit.keyId === keyId))).length
  const found = new Map<number, bigint>()
  for (const kind of kinds) {
    const given = new Set<string>()
    for (const row of kind) {
      const keys = limitsOf(row).map(({ keyId }) => keyId)
      const parts = keys.map((key) => (given.has(key) ? 0n : (left.get(key) ?? 0n) / BigInt(sharing(key))))
      const part = parts.reduce((least, one) => (one < least ? one : least))
      if (part === 0n) continue
      found.set(row.transaction.number, part)
      for (const key of keys) given.add(key)
    }
  }
  return found
}

export const make = Effect.gen(function* () {
  const keys = yield* ApiKeys
  const ledger = yield* Ledger

  const leftOf = Effect.fnUntraced(function* ({ maximum, ...limit }: FeeLimit) {
    const { keyId } = limit
    const used = yield* ledger.feesOfLastDay(limit)
    return [keyId, used < maximum ? maximum - used : 0n] as const
  })

  const budgetOf: LaneFees["budgetOf"] = Effect.fnUntraced(function* (type, open) {
    const limited = open.filter(({ fee }) => fee !== undefined)
    const keyIds = [...new Set(limited.flatMap(({ apiKeyId }) => apiKeyId ?? []))]
    const limits = new Map(
      yield* Effect.forEach(keyIds, (id) => Effect.map(keys.feeLimits(id, type), (all) => [id, all] as const))
    )
    const limitsOf: FeeBudget["limitsOf"] = ({ fee, apiKeyId }) =>
      fee === undefined || apiKeyId === undefined ? [] : (limits.get(apiKeyId) ?? [])
    const distinct = new Map([...limits.values()].flat().map((limit) => [limit.keyId, limit]))
    const left = new Map(yield* Effect.forEach(distinct.values(), leftOf))
    const rows = limited.filter((row) => limitsOf(row).length > 0).toSorted(byNumber)
    const shared = shares(rows, limitsOf, left)
    const maximumOf: FeeBudget["maximumOf"] = (row) =>
      row.fee === undefined || limitsOf(row).length === 0
        ? undefined
        : row.fee + (shared.get(row.transaction.number) ?? 0n)
    return { maximumOf, limitsOf }
  })

  const fees: LaneFees = { budgetOf }
  return fees
})
