// What a transaction counts toward the `max_fee_per_day` of its API key, in wei.
import { paidOf } from "./Attempt.ts"
import { maxFeesOf } from "./Funds.ts"
import { currentAttempts, isFinal } from "./Transaction.ts"
import type { Transaction } from "./Transaction.ts"

/** What it has cost, if it is final. While it is open: what its attempts can cost; `reserved` before there are any. */
export const feeOf = (transaction: Transaction, reserved: bigint): bigint => {
  const { mined } = transaction
  if (isFinal(transaction)) return mined === undefined ? 0n : paidOf(mined.receipt)
  const attempts = currentAttempts(transaction)
  if (transaction.nonce === undefined || attempts.length === 0) return reserved
  return attempts.reduce((most, attempt) => {
    const cost = maxFeesOf(attempt)
    return cost > most ? cost : most
  }, 0n)
}
