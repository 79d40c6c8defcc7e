// Where a transaction is signed next. Nodes keep one transaction per account, so an account has one place at a time.
import { currentAttempts, isFinal } from "../Transaction.ts"
import type { Lane, LaneAccount, Terms, Transaction } from "../Transaction.ts"
import type { Moment, Place } from "../TransactionValues.ts"
import { lastSequence } from "./Int64.ts"
import { momentOf } from "./Stellar.ts"
import type { Stellar, StellarSurvey } from "./Stellar.ts"
import { maxClockDifference } from "./StellarNumbers.ts"

/** While a transaction has a place, the next sequence is above the one that the chain expects. */
const isFree = ({ nextSequence, chainSequence }: LaneAccount<Stellar>): boolean =>
  nextSequence === chainSequence && chainSequence > 0n && chainSequence <= lastSequence

const isReady = ({ counters }: LaneAccount<Stellar>): boolean => counters?.stage === "ready"

/** Channels in the stage `ready`, whether a transaction uses them now or not. */
const readyChannels = ({ accounts }: Lane<Stellar>): ReadonlyArray<LaneAccount<Stellar>> => accounts.filter(isReady)

const placeAt = ({ address, nextSequence }: LaneAccount<Stellar>): Place => ({
  account: address,
  sequence: nextSequence
})

/** The channel that has been idle for longest: its sequence was used at the lowest ledger. */
const idleSince = ({ chainBlock }: LaneAccount<Stellar>): number => chainBlock?.number ?? 0

/** The next channel to use. Undefined: no channel is free. */
const channelIn = (channels: ReadonlyArray<LaneAccount<Stellar>>): LaneAccount<Stellar> | undefined =>
  channels.filter(isFree).toSorted((one, other) => idleSince(one) - idleSince(other))[0]

type Placed = Pick<Transaction<Stellar>, "facts" | "requiredSequence">

/** The channels that a transaction may use. A required sequence is always one of the relayer's own account. */
export const channelsFor = (
  lane: Lane<Stellar>,
  { requiredSequence }: Placed,
  { usesChannels }: Pick<Terms<Stellar>, "usesChannels">
): ReadonlyArray<LaneAccount<Stellar>> => (usesChannels && requiredSequence === undefined ? readyChannels(lane) : [])

/** A transaction that can use a channel never uses the relayer's own account, which others need. */
export const placeOf = (
  lane: Lane<Stellar>,
  transaction: Placed,
  terms: Pick<Terms<Stellar>, "usesChannels">
): Place | undefined => {
  const { guest } = transaction.facts
  if (guest !== undefined) return { account: guest.account }
  const channels = channelsFor(lane, transaction, terms)
  const [own] = lane.accounts
  const account = channels.length === 0 ? own : channelIn(channels)
  return account !== undefined && isFree(account) ? placeAt(account) : undefined
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
