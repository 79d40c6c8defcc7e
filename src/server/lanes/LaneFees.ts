// What the API keys of transactions leave for fees: checked before each signature, so that neither an estimate nor a bump
// exceeds `max_fee_per_day`.
import { Effect } from "effect"
import { ApiKeys } from "../access/ApiKeys.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"

export interface LaneFees {
  /** Wei that each transaction may cost in all, by number. Transactions whose API key has no limit are left out. */
  limitsOf(open: ReadonlyArray<StoredTransaction>): Effect.Effect<ReadonlyMap<number, bigint>>
}

type Limited = StoredTransaction & { readonly apiKeyId: string; readonly fee: bigint }

const isLimited = (stored: StoredTransaction): stored is Limited =>
  stored.fee !== undefined && stored.apiKeyId !== undefined

const hasNonce = ({ transaction }: StoredTransaction): boolean => transaction.nonce !== undefined

const byNumber = (one: StoredTransaction, other: StoredTransaction): number =>
  one.transaction.number - other.transaction.number

export const make = Effect.gen(function* () {
  const keys = yield* ApiKeys
  const ledger = yield* Ledger

  /** What is left of the tightest limit of the key and its creators. Undefined: they have none, or the key was deleted. */
  const leftFor = Effect.fnUntraced(function* (keyId: string) {
    const limits = yield* keys.feeLimits(keyId)
    const left = yield* Effect.forEach(limits, ({ members, maximum }) =>
      Effect.map(ledger.feesOfLastDay(members), (used) => (used < maximum ? maximum - used : 0n))
    )
    return left.length === 0 ? undefined : left.reduce((least, one) => (one < least ? one : least))
  })

  /**
   * Each transaction may cost what was counted for it when it was accepted or signed. What is left is shared by two of a key:
   * the oldest one with a nonce may use it for a bump, and the oldest one without for its first signature.
   */
  const limitsOf: LaneFees["limitsOf"] = Effect.fnUntraced(function* (open) {
    const limits = new Map<number, bigint>()
    const byKey = Map.groupBy(open.filter(isLimited).toSorted(byNumber), ({ apiKeyId }) => apiKeyId)
    for (const [keyId, rows] of byKey) {
      const left = yield* leftFor(keyId)
      if (left === undefined) continue
      for (const { transaction, fee } of rows) limits.set(transaction.number, fee)
      const sharing = [rows.find(hasNonce), rows.find((row) => !hasNonce(row))].filter((row) => row !== undefined)
      for (const { transaction, fee } of sharing) limits.set(transaction.number, fee + left / BigInt(sharing.length))
    }
    return limits
  })

  const fees: LaneFees = { limitsOf }
  return fees
})
