// What a transaction counts toward the `max_fee_per_day` of its API key, in the smallest unit of its chain.
import { currentAttempts, isFinal } from "./Transaction.ts"
import type { Transaction } from "./Transaction.ts"

/** What it has cost, if it is final. While it is open: what its attempts can cost; `reserved` before there are any. */
export const feeOf = (transaction: Transaction, reserved: bigint): bigint => {
  const { mined, place } = transaction
  if (isFinal(transaction)) return mined?.receipt.paid ?? 0n
  const attempts = currentAttempts(transaction)
  if (place === undefined || attempts.length === 0) return reserved
  return attempts.reduce((most, { maxFee }) => (maxFee > most ? maxFee : most), 0n)
}
