// The accounts of a lane after a poll: their sequences as the providers show them, and the stages of channels.
import type { Array as Arr } from "effect"
import type { LaneAccount } from "../../../domain/transaction/Lane.ts"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { stageAfter } from "../../../domain/transaction/stellar/Channels.ts"
import type { Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import { agreeing } from "../../../domain/transaction/stellar/StellarNumbers.ts"
import { isFinal, newestRequest } from "../../../domain/transaction/Transaction.ts"
import type { LaneReading, LaneRow, PollOptions } from "../LaneNetwork.ts"
import * as StellarPolls from "./StellarPolls.ts"
import type { StellarPoll } from "./StellarPolls.ts"

type Account = LaneAccount<Stellar>

/** The account with the sequence that its providers show. */
const read = (account: Account, found: StellarPoll, isTaken: boolean): Account =>
  StellarPolls.accountAfter(account, StellarPolls.sequencesOf(found, account.address), isTaken)

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
