// What the open transactions of a lane amount to, computed once per round of decisions, and what one counts for its API key.
import { isNoop } from "./Attempt.ts"
import type { Family } from "./Family.ts"
import type { RestOfLane } from "./Lane.ts"
import type { Moment } from "./Moment.ts"
import type { Rules } from "./Rules.ts"
import { currentAttempts, isFinal, isInFlight, requestOf } from "./Transaction.ts"
import type { Transaction } from "./Transaction.ts"

type Costs<F extends Family> = Pick<Rules<F>, "costOf">

/**
 * What a transaction in flight reserves, in the smallest unit of the chain: any of its attempts may be mined, so the most
 * expensive one counts.
 */
export const reservationOf = <F extends Family>(rules: Costs<F>, transaction: Transaction<F>): bigint => {
  let most = 0n
  for (const attempt of currentAttempts(transaction)) {
    const cost = rules.costOf(isNoop(attempt) ? undefined : requestOf(transaction, attempt), attempt.offer)
    if (cost > most) most = cost
  }
  return most
}

export interface Totals<F extends Family = Family> {
  readonly inFlight: number
  /** In the smallest unit of the chain. */
  readonly reserved: bigint
  /** Lowest sequence of the first account that an open transaction has. Absent: there is none. */
  readonly lowestOpen?: bigint | undefined
  readonly lastSignedAt?: Moment | undefined
  /** Since when nothing is in flight. */
  readonly quietSince?: Moment | undefined
  readonly survey: F["survey"]
}

const lowest = (one: bigint | undefined, other: bigint | undefined): bigint | undefined =>
  one === undefined || other === undefined ? (one ?? other) : one < other ? one : other

/** `since`: what the holder of the lane remembers from earlier polls. */
export const totalsOf = <F extends Family>(
  rules: Pick<Rules<F>, "costOf" | "survey">,
  transactions: ReadonlyArray<Transaction<F>>,
  since: Pick<Totals, "lastSignedAt" | "quietSince">
): Totals<F> => {
  const open = transactions.filter((transaction) => !isFinal(transaction))
  let inFlight = 0
  let reserved = 0n
  let lowestOpen: bigint | undefined
  for (const transaction of open) {
    lowestOpen = lowest(lowestOpen, transaction.place?.sequence)
    if (!isInFlight(transaction)) continue
    inFlight += 1
    reserved += reservationOf(rules, transaction)
  }
  return { inFlight, reserved, lowestOpen, ...since, survey: rules.survey(open) }
}

/** What one transaction sees of the rest of its lane. `isPendingBefore`: of the queue, for required sequences. */
export const restOf = <F extends Family>(
  rules: Costs<F>,
  transaction: Transaction<F>,
  totals: Totals<F>,
  isPendingBefore: boolean
): RestOfLane<F> => {
  const { inFlight, reserved, lastSignedAt, quietSince, survey } = totals
  return {
    inFlight,
    reserved: reserved - (isInFlight(transaction) ? reservationOf(rules, transaction) : 0n),
    isPendingBefore,
    lastSignedAt,
    quietSince: inFlight === 0 ? quietSince : undefined,
    survey
  }
}

/**
 * What it counts toward the `max_fee_per_day` of its API key, in the smallest unit of its chain. If it is final: what it has
 * cost. While it is open: what its attempts can cost; `reserved` before there are any.
 */
export const feeOf = (transaction: Transaction, reserved: bigint): bigint => {
  const { mined, place, paidBefore = 0n } = transaction
  if (isFinal(transaction)) return paidBefore + (mined?.receipt.paid ?? 0n)
  const attempts = currentAttempts(transaction)
  if (place === undefined || attempts.length === 0) return paidBefore + reserved
  return attempts.reduce((most, { maxFee }) => (maxFee > most ? maxFee : most), 0n) + paidBefore
}
