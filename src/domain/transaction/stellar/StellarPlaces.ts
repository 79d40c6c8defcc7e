// Where a transaction is signed next. Nodes keep one transaction per account, so an account has one place at a time.
import type { Lane, LaneAccount, Terms } from "../Lane.ts"
import type { Moment } from "../Moment.ts"
import type { Place } from "../Place.ts"
import { currentAttempts, isFinal } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"
import { maxInt64 } from "./Int64.ts"
import { momentOf } from "./Stellar.ts"
import type { Stellar, StellarSurvey } from "./Stellar.ts"
import { maxClockDifference } from "./StellarNumbers.ts"

/** While a transaction has a place, the next sequence is above the one that the chain expects. */
const isFree = ({ nextSequence, chainSequence }: LaneAccount<Stellar>): boolean =>
  nextSequence === chainSequence && chainSequence > 0n && chainSequence <= maxInt64

const isReady = (account: LaneAccount<Stellar>): boolean => account.counters?.stage === "ready" && isFree(account)

const placeAt = ({ address, nextSequence }: LaneAccount<Stellar>): Place => ({
  account: address,
  sequence: nextSequence
})

/** The channel that has been idle for longest: its sequence was used at the lowest ledger. */
const idleSince = ({ chainBlock }: LaneAccount<Stellar>): number => chainBlock?.number ?? 0

const channelOf = ([, ...channels]: Lane<Stellar>["accounts"]): LaneAccount<Stellar> | undefined =>
  channels.filter(isReady).toSorted((one, other) => idleSince(one) - idleSince(other))[0]

/** A required sequence is one of the relayer's own account. */
export const placeOf = (
  { accounts }: Lane<Stellar>,
  { facts, requiredSequence }: Transaction<Stellar>,
  { usesChannels }: Pick<Terms<Stellar>, "usesChannels">
): Place | undefined => {
  const { guest } = facts
  if (guest !== undefined) return { account: guest.account }
  const [own] = accounts
  const channel = usesChannels && requiredSequence === undefined ? channelOf(accounts) : undefined
  if (channel !== undefined) return placeAt(channel)
  return isFree(own) ? placeAt(own) : undefined
}

const lastMaxTime = (transaction: Transaction<Stellar>): number =>
  Math.max(0, ...currentAttempts(transaction).map(({ offer }) => offer.maxTime))

export const survey = (open: ReadonlyArray<Transaction<Stellar>>): StellarSurvey => {
  const taken = new Map<string, number>()
  let guests = 0
  let hasPendingGuests = false
  for (const transaction of open) {
    const { facts, place } = transaction
    if (isFinal(transaction)) continue
    if (facts.guest !== undefined) {
      if (place === undefined) hasPendingGuests = true
      else guests += 1
    } else if (place !== undefined) taken.set(place.account, lastMaxTime(transaction))
  }
  return { taken, guests, hasPendingGuests }
}

/** The last moment at which a ledger can contain an envelope that a caller got, by the clock. `maxTime`: unix seconds. */
export const endOfGiven = (maxTime: bigint): Moment => momentOf(Number(maxTime) + maxClockDifference)

export const maxTimeOfGiven = (end: Moment): number => Math.round(end / 1000) - maxClockDifference
