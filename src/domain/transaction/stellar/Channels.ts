// Channels: accounts whose sequences a lane uses besides those of its relayer. This decides when they are made, used and ended.
import { lockedBy } from "../../relayer/Policy.ts"
import type { FeeStats } from "./Fees.ts"
import type { LedgerSettings } from "./LedgerSettings.ts"
import { present } from "../Presentation.ts"
import type { Lane, LaneAccount } from "../Transaction.ts"
import type { Moment } from "../TransactionValues.ts"
import { refusal } from "./Refusal.ts"
import type { ChannelStage, ChannelWork, Stellar } from "./Stellar.ts"
import { channelsPerEnvelope, channelWorkPause, operationsPerChannel } from "./StellarNumbers.ts"
import type { Preparation } from "./StellarSeen.ts"

export interface Channel {
  readonly address: string
  readonly stage: ChannelStage
}

/** The channels of a lane, the oldest one first. */
export const channelsOf = ({ accounts: [, ...others] }: Lane<Stellar>): ReadonlyArray<Channel> =>
  others.flatMap(({ address, counters }) => (counters?.stage === undefined ? [] : [{ address, stage: counters.stage }]))

interface ChannelPolicy {
  readonly channels?: { readonly count: number }
  readonly concurrent_transactions?: boolean
}

/** How many channels a lane should have: the highest count that one of its relayers wants. */
export const wantedBy = (policies: ReadonlyArray<ChannelPolicy>): number =>
  Math.max(0, ...policies.map(({ channels }) => channels?.count ?? 0))

/** Whether transactions of a relayer with this policy may use channels. */
export const usesChannels = ({ channels, concurrent_transactions }: ChannelPolicy): boolean =>
  concurrent_transactions !== false && (channels?.count ?? 0) > 0

/** The channels of a lane, as the service has stored them. */
export interface ChannelState {
  readonly wanted: number
  readonly channels: ReadonlyArray<Channel>
  /** Whether a transaction that makes or ends channels is open. No other one begins before it is final. */
  readonly isWorking: boolean
  /** When such a transaction failed last. Absent: never. */
  readonly failedAt?: Moment
  readonly now: Moment
}

/**
 * The work that begins next. `again`: channels whose accounts do not exist, for example because a process died before it sent the
 * envelope; they are made with their old keys. `fresh`: how many channels get a new key.
 */
export type Upkeep =
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Create"; readonly again: ReadonlyArray<string>; readonly fresh: number }
  | { readonly _tag: "Merge"; readonly addresses: ReadonlyArray<string> }

const nothing: Upkeep = { _tag: "Nothing" }

const addressesOf = (channels: ReadonlyArray<Channel>): ReadonlyArray<string> =>
  channels.slice(0, channelsPerEnvelope).map(({ address }) => address)

/** The channels that are too many: first those that are not made yet, then the newest ones. */
const surplusOf = (creating: ReadonlyArray<Channel>, ready: ReadonlyArray<Channel>, wanted: number) =>
  [...creating, ...ready.toReversed()].slice(0, Math.max(0, creating.length + ready.length - wanted))

export const upkeepOf = ({ channels, failedAt, isWorking, now, wanted }: ChannelState): Upkeep => {
  if (isWorking || (failedAt !== undefined && now < failedAt + channelWorkPause)) return nothing
  const at = (stage: ChannelStage) => channels.filter((channel) => channel.stage === stage)
  const creating = at("creating")
  const ready = at("ready")
  const ending = [...at("draining"), ...surplusOf(creating, ready, wanted)]
  if (ending.length > 0) return { _tag: "Merge", addresses: addressesOf(ending) }
  const again = addressesOf(creating)
  const fresh = Math.min(channelsPerEnvelope - again.length, wanted - creating.length - ready.length)
  return again.length + fresh === 0 ? nothing : { _tag: "Create", again, fresh }
}

/** What a poll says about a channel. */
export interface ChannelSighting {
  /** Whether its account is in the ledger. Undefined: the providers differ, or too few of them answered. */
  readonly exists: boolean | undefined
  /** Whether a transaction has a place there. */
  readonly isTaken: boolean
  /** Whether an open transaction is to end it. */
  readonly isEnding: boolean
}

/** The stage after a poll. Undefined: the account does not exist any more, so the channel is removed. */
export const stageAfter = (
  stage: ChannelStage,
  { exists, isEnding, isTaken }: ChannelSighting
): ChannelStage | undefined => {
  if (stage === "draining" || isEnding) return exists === false && !isTaken ? undefined : "draining"
  if (exists === undefined) return stage
  if (exists) return "ready"
  // A transaction still uses the channel, and only the proof about its envelopes says how it ended.
  return isTaken ? stage : "creating"
}

/** Whether a channel of this stage still needs the work. */
const isLeft = ({ kind }: ChannelWork, stage: ChannelStage | undefined): boolean =>
  stage === (kind === "create" ? "creating" : "draining")

/** The work, limited to the channels that still need it. */
export const leftOf = (work: ChannelWork, { accounts }: Lane<Stellar>): ChannelWork => {
  const stages = new Map(accounts.map(({ address, counters }: LaneAccount<Stellar>) => [address, counters?.stage]))
  return { ...work, addresses: work.addresses.filter((address) => isLeft(work, stages.get(address))) }
}

/** What a signature of the work needs. The poll has read the accounts of the channels, so no provider is asked again. */
export const preparationOfWork = (
  { addresses, kind }: ChannelWork,
  { baseFee, baseReserve }: LedgerSettings,
  stats: FeeStats | undefined
): Preparation => ({
  operations: addresses.length * operationsPerChannel[kind],
  out: kind === "create" ? lockedBy(addresses.length, baseReserve) : 0n,
  baseFee,
  ...(addresses.length === 0 ? { broken: refusal("operation_count", "no channel is left") } : {}),
  ...present("stats", stats)
})
