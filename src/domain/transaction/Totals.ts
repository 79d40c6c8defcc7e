// What the open transactions of a lane amount to, computed once per poll.
import { reservationOf } from "./Funds.ts"
import type { Others } from "./Lane.ts"
import type { Moment } from "./Moment.ts"
import { speedOf } from "./Offer.ts"
import { max } from "./Speed.ts"
import type { Speed } from "./Speed.ts"
import { currentAttempts, isFinal, isInFlight, newestRequest } from "./Transaction.ts"
import type { Transaction } from "./Transaction.ts"

export interface Totals {
  readonly inFlight: number
  /** Wei. */
  readonly reserved: bigint
  /** The most urgent speed of all: the head of the lane inherits it. */
  readonly urgency: Speed
  /** Lowest nonce in flight that no node has accepted. Absent: there is none. */
  readonly lowestUnaccepted?: number | undefined
  /** Lowest nonce of a transaction that is not final. Absent: there is none. */
  readonly lowestOpen?: number | undefined
  readonly lastSignedAt?: Moment | undefined
  /** Since when nothing is in flight. */
  readonly quietSince?: Moment | undefined
}

const empty: Totals = { inFlight: 0, reserved: 0n, urgency: "safeLow" }

const isAccepted = (transaction: Transaction): boolean =>
  currentAttempts(transaction).some(({ outcome }) => outcome === "accepted")

const lowest = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)

const add = (totals: Totals, transaction: Transaction): Totals => {
  if (isFinal(transaction)) return totals
  const { nonce } = transaction
  const counts = isInFlight(transaction)
  const unaccepted = counts && !isAccepted(transaction) ? nonce : undefined
  return {
    ...totals,
    inFlight: totals.inFlight + Number(counts),
    reserved: totals.reserved + (counts ? reservationOf(transaction) : 0n),
    urgency: max(totals.urgency, speedOf(newestRequest(transaction))),
    lowestUnaccepted: lowest(totals.lowestUnaccepted, unaccepted),
    lowestOpen: lowest(totals.lowestOpen, nonce)
  }
}

/** `since`: what the holder of the lane remembers from earlier polls. */
export const totalsOf = (
  transactions: ReadonlyArray<Transaction>,
  since: Pick<Totals, "lastSignedAt" | "quietSince">
): Totals => transactions.reduce(add, { ...empty, ...since })

/** What one transaction sees of the others. `isPendingBefore`: of the queue, for required nonces. */
export const othersOf = (transaction: Transaction, totals: Totals, isPendingBefore: boolean): Others => {
  const { inFlight, reserved, urgency, lowestUnaccepted, lastSignedAt, quietSince } = totals
  const { nonce } = transaction
  return {
    inFlight,
    reserved: reserved - (isInFlight(transaction) ? reservationOf(transaction) : 0n),
    urgency,
    isPendingBefore,
    lastSignedAt,
    quietSince: inFlight === 0 ? quietSince : undefined,
    arePredecessorsAccepted: nonce === undefined || lowestUnaccepted === undefined || lowestUnaccepted >= nonce
  }
}
