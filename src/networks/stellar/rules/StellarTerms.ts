// What the policy of a stellar relayer means for its transactions, for its channels, and for the places where it signs next.
// Admission and lanes read the policy only here.
import { Equal } from "effect"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import { finalityByOneOf } from "../../../domain/network/Network.ts"
import { defaultMargin, defaultSlippage } from "../../../domain/price/Price.ts"
import { lockedBy } from "../../../domain/relayer/Policy.ts"
import type { StellarPolicy } from "../../../domain/relayer/Policy.ts"
import { present } from "../../core/Presentation.ts"
import { currentAttempts, isFinal, newestRequest } from "../../core/Transaction.ts"
import type { Lane, LaneAccount, Terms, Transaction } from "../../core/Transaction.ts"
import type { Moment, Place } from "../../core/TransactionValues.ts"
import { refusal } from "./Envelope.ts"
import type { Envelope, GuardTerms, Operation, Party, Refusal } from "./Envelope.ts"
import type { PaymentTerms } from "./SponsoredPayment.ts"
import { momentOf } from "./Stellar.ts"
import type { ChannelStage, ChannelWork, Stellar, StellarPolicyTerms, StellarSurvey, StellarTarget } from "./Stellar.ts"
import {
  channelsPerEnvelope,
  channelWorkPause,
  defaultMaxFee,
  defaultMaxSubentries,
  envelopeValidity,
  lowerFeeCap,
  maxClockDifference,
  maxForeignValidity,
  maxSponsoredValidity,
  operationsPerChannel
} from "./StellarNumbers.ts"
import type { FeeStats, LedgerSettings } from "./StellarNumbers.ts"
import type { Preparation } from "./StellarSeen.ts"
import { lastSequence } from "./StellarValues.ts"

// Channels: accounts whose sequences a lane uses besides those of its relayer. This decides when they are made, used and ended.

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

const noUpkeep: Upkeep = { _tag: "Nothing" }

const addressesOf = (channels: ReadonlyArray<Channel>): ReadonlyArray<string> =>
  channels.slice(0, channelsPerEnvelope).map(({ address }) => address)

/** The channels that are too many: first those that are not made yet, then the newest ones. */
const surplusOf = (creating: ReadonlyArray<Channel>, ready: ReadonlyArray<Channel>, wanted: number) =>
  [...creating, ...ready.toReversed()].slice(0, Math.max(0, creating.length + ready.length - wanted))

export const upkeepOf = ({ channels, failedAt, isWorking, now, wanted }: ChannelState): Upkeep => {
  if (isWorking || (failedAt !== undefined && now < failedAt + channelWorkPause)) return noUpkeep
  const at = (stage: ChannelStage) => channels.filter((channel) => channel.stage === stage)
  const creating = at("creating")
  const ready = at("ready")
  const ending = [...at("draining"), ...surplusOf(creating, ready, wanted)]
  if (ending.length > 0) return { _tag: "Merge", addresses: addressesOf(ending) }
  const again = addressesOf(creating)
  const fresh = Math.min(channelsPerEnvelope - again.length, wanted - creating.length - ready.length)
  return again.length + fresh === 0 ? noUpkeep : { _tag: "Create", again, fresh }
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

/** The part of a target that payment strategy, fees and guard depend on. */
interface WithPolicy {
  readonly relayer: { readonly policies?: StellarPolicy }
}

/** The nearest bound, if the setting is outside of them: such policies exist, and are shown as they were given. */
const timeoutOf = (seconds: bigint | undefined): number => {
  const { maximum, minimum, standard } = envelopeValidity
  return seconds === undefined ? standard : Math.min(maximum, Math.max(minimum, Number(seconds)))
}

/** False for work on channels: it uses the relayer's own account, and each payment strategy allows it. */
const isRequest = (transaction: Transaction<Stellar>): boolean => newestRequest(transaction).channels === undefined

/** Whether the relayer only pays for envelopes whose users pay it in a token. */
export const usersPay = ({ relayer: { policies = {} } }: WithPolicy): boolean =>
  policies.fee_payment_strategy === "user"

/** The terms of payments: which tokens count, and at which prices, margin and slippage. */
export const paymentTermsOf = ({ relayer: { address, policies = {} } }: StellarTarget): PaymentTerms => ({
  relayer: address,
  tokens: policies.allowed_tokens ?? [],
  margin: policies.fee_margin_percentage ?? defaultMargin,
  slippage: policies.slippage_percentage ?? defaultSlippage,
  ...present("priceSource", policies.price_source)
})

/** The most seconds that a user's envelope may stay valid: fewer if the user pays, because the present price is used. */
export const timeLimitOf = (target: WithPolicy): number => {
  const { sponsor_time_limit_seconds: limit = maxForeignValidity } = target.relayer.policies ?? {}
  return usersPay(target) ? Math.min(limit, maxSponsoredValidity) : limit
}

/** Whether the payment strategy allows the transaction: the users of a relayer pay, or nobody pays it. */
const isAllowed = (target: StellarTarget, transaction: Transaction<Stellar>): boolean => {
  if (!isRequest(transaction) || transaction.facts.guest !== undefined) return true
  return usersPay(target) === (transaction.facts.build !== undefined)
}

/** Stroops that the policy lets an envelope cost. Absent: the policy does not say it. */
export const highestFeeOf = ({ relayer: { policies = {} } }: WithPolicy): bigint | undefined =>
  policies.max_fee === undefined ? undefined : BigInt(policies.max_fee)

/** Stroops that an envelope may cost. `asked`: what its request says. */
const feeCapOf = (target: WithPolicy, asked: bigint | undefined): bigint =>
  lowerFeeCap(asked, highestFeeOf(target), defaultMaxFee)

/** What the guard compares envelopes with, as far as the policy says it. */
export const guardTermsOf = (
  target: WithPolicy,
  asked: bigint | undefined
): Pick<GuardTerms, "allowedOperations" | "allowedTokens" | "cap" | "maxSubentries" | "strategy" | "timeLimit"> => {
  const { allowed_operations, allowed_tokens, max_subentries } = target.relayer.policies ?? {}
  return {
    strategy: usersPay(target) ? "user" : "relayer",
    allowedOperations: allowed_operations ?? [],
    allowedTokens: (allowed_tokens ?? []).map(({ asset }) => asset),
    maxSubentries: max_subentries ?? defaultMaxSubentries,
    timeLimit: timeLimitOf(target),
    cap: feeCapOf(target, asked)
  }
}

export const stellarTermsOf = (
  target: StellarTarget,
  transaction: Transaction<Stellar>
): StellarPolicyTerms & { readonly isAllowed: boolean } => {
  const { relayer, network } = target
  const { policies = {} } = relayer
  return {
    minBalance: minBalanceOf("stellar", policies),
    cap: feeCapOf(target, newestRequest(transaction).max_fee),
    timeout: timeoutOf(policies.timeout_seconds),
    finalityByOne: finalityByOneOf(network),
    usesChannels: isRequest(transaction) && usesChannels(policies),
    isAllowed: isAllowed(target, transaction)
  }
}

// The guard of envelopes that make and end channels. Callers cannot send these operations.

const partyOf = (address: string): Party => ({ address, isMuxed: false })

/** In a creation, the relayer only pays the reserves of the channel, which gets no XLM. The other operations act for the channel. */
const creationOf = (channel: string): ReadonlyArray<Operation> => [
  { type: "beginSponsoringFutureReserves", takes: [], receivers: [] },
  { type: "createAccount", takes: [{ asset: "native", amount: 0n }], receivers: [channel] },
  { type: "setOptions", takes: [], receivers: [], source: partyOf(channel) },
  { type: "endSponsoringFutureReserves", takes: [], receivers: [], source: partyOf(channel) }
]

const mergeOf = (channel: string, relayer: string): Operation => ({
  type: "accountMerge",
  takes: [],
  receivers: [relayer],
  source: partyOf(channel)
})

const operationsOf = ({ addresses, kind }: ChannelWork, relayer: string): ReadonlyArray<Operation> =>
  addresses.flatMap((channel) => (kind === "create" ? creationOf(channel) : [mergeOf(channel, relayer)]))

/** Why an envelope does not do exactly this work. Undefined: it does exactly this work. */
export const workRefusal = (envelope: Envelope, work: ChannelWork, relayer: string): Refusal | undefined => {
  if (envelope.kind !== "transaction") return refusal("xdr_kind", "the envelope is no transaction")
  const { operations, preconditions, source } = envelope
  if (!Equal.equals(source, partyOf(relayer))) {
    return refusal("source_account_mismatch", `the source ${source.address} is not the relayer`)
  }
  const expected = operationsOf(work, relayer)
  const wrong = operations.findIndex((operation, index) => !Equal.equals(operation, expected[index]))
  if (wrong !== -1)
    return refusal("operation_not_allowed", `operation ${wrong + 1} is not part of the work on channels`)
  if (operations.length !== expected.length) return refusal("operation_count", `expected ${expected.length} operations`)
  const [precondition] = preconditions
  return precondition === undefined
    ? undefined
    : refusal("preconditions_unsupported", `${precondition} is not expected`)
}

// Where a transaction is signed next. Nodes keep one transaction per account, so an account has one place at a time.

/** While a transaction has a place, the next sequence is above the one that the chain expects. */
const isFree = ({ nextSequence, chainSequence }: LaneAccount<Stellar>): boolean =>
  nextSequence === chainSequence && chainSequence > 0n && chainSequence <= lastSequence

const lowestOf = (values: ReadonlyArray<bigint>): bigint | undefined =>
  values.reduce<bigint | undefined>((lowest, one) => (lowest === undefined || one < lowest ? one : lowest), undefined)

/**
 * An account after a poll. `shown`: its sequence at each provider. The lowest counts, because one that is too low heals and one
 * provider must not raise it. While a transaction has a place there, only the proof about its envelopes moves the account on.
 */
export const accountAfter = (
  account: LaneAccount<Stellar>,
  shown: ReadonlyArray<bigint>,
  isTaken: boolean
): LaneAccount<Stellar> => {
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
