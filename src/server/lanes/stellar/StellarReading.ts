// The accounts of a lane after a poll: their sequences as the providers show them, the stages of channels, and whether the network was
// restarted.
import type { Array as Arr } from "effect"
import { stageAfter } from "../../../domain/transaction/stellar/Channels.ts"
import type { Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import { agreeing } from "../../../domain/transaction/stellar/StellarNumbers.ts"
import * as StellarLooks from "../../chains/stellar/StellarLooks.ts"
import { isFinal, newestRequest } from "../../../domain/transaction/Transaction.ts"
import type { LaneAccount } from "../../../domain/transaction/Transaction.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { LaneReading, LaneRow, PollOptions } from "../LaneNetwork.ts"
import * as StellarPolls from "./StellarPolls.ts"
import type { StellarPoll } from "./StellarPolls.ts"

type Account = LaneAccount<Stellar>

/** An account starts at the number of the ledger that created it, shifted left by 32 bits (`getStartingSequenceNumber`). */
const bornAt = (sequence: bigint): bigint => sequence >> 32n

/** The sequence of an account at each provider that shows it. */
const sequencesOf = ({ seen }: StellarPoll, address: string): ReadonlyArray<bigint> =>
  seen.flatMap(({ sighting }) => {
    if (sighting === undefined) return []
    const { sequence } = StellarLooks.accountAt(sighting.accounts, address)
    return sequence === undefined ? [] : [sequence]
  })

/**
 * Whether a test network was restarted: every asked provider shows an account that is older than the one whose sequences the lane
 * knows. A provider that is behind shows the same account, and one alone of two may lie.
 */
export const isRestarted = ({ address, settledSequence }: Account, found: StellarPoll): boolean => {
  const shown = sequencesOf(found, address)
  const asked = Math.max(1, Math.min(found.configured, agreeing))
  return (
    settledSequence > 0n &&
    shown.length >= asked &&
    shown.every((sequence) => bornAt(sequence) < bornAt(settledSequence - 1n))
  )
}

const lowestOf = (values: ReadonlyArray<bigint>): bigint | undefined =>
  values.reduce<bigint | undefined>((lowest, one) => (lowest === undefined || one < lowest ? one : lowest), undefined)

/**
 * An account after a poll. `shown`: its sequence at each provider. The lowest counts, because one that is too low heals and one
 * provider must not raise it. While a transaction has a place there, only the proof about its envelopes moves the account on.
 */
const accountAfter = (account: Account, shown: ReadonlyArray<bigint>, isTaken: boolean): Account => {
  const { nextSequence, chainSequence, settledSequence } = account
  const lowest = lowestOf(shown)
  if (lowest === undefined) return account
  if (!isTaken) {
    const next = lowest + 1n > nextSequence ? lowest + 1n : nextSequence
    return { ...account, nextSequence: next, chainSequence: next, settledSequence: next }
  }
  // A place that is given up may continue below what was believed before.
  const chain = lowest + 1n < chainSequence ? lowest + 1n : chainSequence
  return { ...account, chainSequence: chain, settledSequence: chain < settledSequence ? chain : settledSequence }
}

/** The account with the sequence that its providers show. */
const read = (account: Account, found: StellarPoll, isTaken: boolean): Account =>
  accountAfter(account, sequencesOf(found, account.address), isTaken)

interface Reading {
  readonly found: StellarPoll
  readonly now: Moment
  /** Accounts on which a transaction has a place. */
  readonly taken: ReadonlySet<string>
  /** Channels that open transactions end. */
  readonly ending: ReadonlySet<string>
}

/** Whether an account is in the ledger. Undefined: the providers differ, or fewer answered than have to agree. */
const exists = ({ found, now }: Reading, address: string): boolean | undefined => {
  const shown = StellarPolls.movingAt(found, address, now)
  if (shown.length < Math.min(found.configured, agreeing)) return undefined
  if (shown.every(({ sequence }) => sequence !== undefined)) return true
  return shown.every(({ sequence }) => sequence === undefined) ? false : undefined
}

/** Stores the ledger of the last use: the lane first uses the channel that has been idle longest. No `seqLedger`: never used. */
const withUse = (channel: Account, { found, now }: Reading): Account => {
  const used = Math.max(0, ...StellarPolls.movingAt(found, channel.address, now).map(({ seqLedger = 0 }) => seqLedger))
  return used === 0 ? channel : { ...channel, chainBlock: { number: used, hash: "" } }
}

/** The channel after the poll. Undefined: its account does not exist any more. */
const channelAfter = (before: Account, reading: Reading): Account | undefined => {
  const { address, counters } = before
  const isTaken = reading.taken.has(address)
  const channel = withUse(read(before, reading.found, isTaken), reading)
  if (counters?.stage === undefined) return channel
  const stage = stageAfter(counters.stage, {
    exists: exists(reading, address),
    isTaken,
    isEnding: reading.ending.has(address)
  })
  return stage === undefined ? undefined : { ...channel, counters: { ...counters, stage } }
}

const placesOf = (rows: ReadonlyArray<LaneRow<Stellar>>): ReadonlySet<string> =>
  new Set(rows.flatMap(({ transaction: { place } }) => (place === undefined ? [] : [place.account])))

const endingIn = (rows: ReadonlyArray<LaneRow<Stellar>>): ReadonlySet<string> =>
  new Set(
    rows.flatMap(({ transaction }) => {
      const { channels } = newestRequest(transaction)
      return channels?.kind === "merge" && !isFinal(transaction) ? channels.addresses : []
    })
  )

/** What a poll says about the lane. */
export const readingOf = (
  { lane, now, rows }: PollOptions<Stellar>,
  found: StellarPoll
): Pick<LaneReading<Stellar>, "lane" | "released"> => {
  const reading: Reading = { found, now, taken: placesOf(rows), ending: endingIn(rows) }
  const [own, ...before] = lane.accounts
  const channels = before.map((channel) => ({ address: channel.address, after: channelAfter(channel, reading) }))
  const accounts: Arr.NonEmptyReadonlyArray<Account> = [
    read(own, found, reading.taken.has(own.address)),
    ...channels.flatMap(({ after }) => after ?? [])
  ]
  const released = channels.flatMap(({ address, after }) => (after === undefined ? [address] : []))
  return { lane: { ...lane, accounts }, ...(released.length === 0 ? {} : { released }) }
}
