// Every number that decides something about stellar transactions, with its unit and its source: constants, what validators vote, fees.
import { maxClockDifference } from "../../../domain/chain/ChainSnapshot.ts"
import { publicBaseReserve, timeoutBounds } from "../../../domain/relayer/Policy.ts"
import type { Moment, Ratio } from "../../core/TransactionValues.ts"

// Requests

/** Milliseconds for which a request without `valid_until` is tried, from the moment at which it may begin. */
export const defaultValidity = 120_000

/** Operations of a transaction at most (`MAX_OPS_PER_TX`). */
export const maxOperations = 100

/** Bytes of a transaction at most: the limit of the public network (`ConfigSettingContractBandwidthV0.txMaxSizeBytes`). */
const maxTransactionBytes = 132_096

/** Characters of an envelope in base64 at most. */
export const maxXdrLength = Math.ceil(maxTransactionBytes / 3) * 4

/** Bytes of a contract's code at most (`ConfigSettingContractMaxSizeBytes` of the public network). */
export const maxWasmBytes = 131_072

/** Bytes of a memo of text (`MAX_MEMO_TEXT`). */
export const maxMemoBytes = 28

/** Stroops that an envelope may cost if neither the request nor the policy says so: the default of the wire format. */
export const defaultMaxFee = 1_000_000n

// Fees

/** Stroops per operation at least on the public network (`LedgerHeader.baseFee`). */
export const baseFee = 100n

/** The highest fee of a transaction that is no fee bump: its field has 32 bits. */
export const maxInnerFee = 2n ** 32n - 1n

/** Factor of the 99th percentile of fees after a death or a refusal. */
const raisedBid: Ratio = { numerator: 2n, denominator: 1n }

/** Times the base fee that is bid if no provider says what others pay. */
const bidWithoutStats = 10n

/** Factor of the resources and of their fee that a simulation returns: the ledger moves before the envelope is applied. */
export const resourceMargin: Ratio = { numerator: 115n, denominator: 100n }

/** Factor of the simulated fee above which the fee of resources that a user declares is refused: a part of it is burned. */
export const declaredResourceMargin: Ratio = { numerator: 3n, denominator: 2n }

// Reserves

/** Stroops that an account locks per entry, such as a trust line, on the public network (`LedgerHeader.baseReserve`). */
export const baseReserve = publicBaseReserve

/** Stroops of a base reserve that is believed: a new network of stellar-core begins with 10 XLM (`genesisBaseReserve`), and votes for less. */
export const believedReserve = { least: 1n, most: 100_000_000n } as const

/** Stroops of a base fee that is believed: 100 on the public network, 100,000 on the dearest one that is known, Pi. */
export const believedBaseFee = { least: 1n, most: 10_000_000n } as const

/** Entries of an account that a trust line for a share of a pool takes (CAP-38). Other trust lines take one. */
export const poolShareEntries = 2

/** Stroops that stay on a relayer at least. */
export const minimumLeft = 10_000_000n

/** Trust lines and other entries of a relayer's account at most, if its policy does not say so. */
export const defaultMaxSubentries = 20

// Envelopes of others

/** Seconds that the time bounds of an envelope may lie ahead if others signed it, or if the service only signs it. */
export const maxForeignValidity = 300

/** Seconds that the time bounds of an envelope may lie ahead if its user pays for it: the price is that of now. */
export const maxSponsoredValidity = 120

/** Expected ledgers before `maxTime` in which a node refuses an envelope (`getUpperBoundCloseTimeOffset`). */
const lateLedgers = 2

/** Seconds before `maxTime` in which a node refuses an envelope, with the close time of the public network. */
export const lateSlack = 10

/** Ledgers for which an authorization that a simulation recorded is valid: 360 seconds, more than an envelope lives. */
export const recordedLedgers = 72

/** Ledgers that have to be left before the entries of an authorization expire. */
export const authorizationMargin = 2

/** Decimals of XLM and of every credit. */
export const creditDecimals = 7

// Ledgers

/** Milliseconds. */
const second = 1000

/** Polls of a lane in the time of one ledger. All but one only ask for the number of the newest ledger. */
export const pollsPerLedger = 4

/** Milliseconds between two polls at least. */
export const leastPollInterval = 250

/** Milliseconds between two ledgers on the public network (`Herder::EXP_LEDGER_TIMESPAN_SECONDS`). */
export const ledgerTime = 5 * second

/** Milliseconds after the time of a ledger when the next one should be seen, and between two looks for it after that. */
export const pollAfter = { ledger: 50, again: ledgerTime / 4 } as const

/** Seconds for which an envelope of the relayer is valid, and the bounds of the policy's setting. */
export const envelopeValidity = { standard: 60, ...timeoutBounds } as const

export { maxClockDifference }

/**
 * Milliseconds after which no envelope of the relayer can be applied that was signed before a moment, by its clock or by a ledger: the
 * longest validity, and what the clock may differ.
 */
export const forgottenLife = (envelopeValidity.maximum + maxClockDifference) * 1000

/** Seconds that have to be left until the deadline when an envelope is signed. */
export const leastValidity = 15

// Places

/** Envelopes at one place. */
export const maxAttempts = 4

/** Envelopes of guests in flight per lane. */
export const maxGuests = 64

/** Channels that one envelope makes or ends: an envelope has at most 20 signatures, and each channel gives one. */
export const channelsPerEnvelope = 10

/** Operations for each channel, by kind of work. */
export const operationsPerChannel = { create: 4, merge: 1 } as const

/** Milliseconds after which work on channels expires. The service then decides again what to do. */
export const channelWorkValidity = 3_600_000

/** Work on channels goes before transactions of callers: without channels, both wait for the same place. */
export const channelWorkPriority = 1000

/** Milliseconds before new work on channels begins after a failure. Each failure can cost a fee. */
export const channelWorkPause = 300_000

/** Milliseconds after a signature for which a transaction waits for the sequence that it requires. */
export const predecessorGrace = 15 * second

// Sends

/** Milliseconds after which the same bytes are sent again: two ledgers if a node took them, else one. */
export const sendAgainAfter = { accepted: 2 * ledgerTime, refused: ledgerTime } as const

// Proofs

/**
 * Milliseconds for which a provider may show that a sequence is used without the transaction that used it: 120 ledgers, twelve times the
 * longest lag of an index that tests have. After that, an operator may decide.
 */
export const unseenPatience = 120 * ledgerTime

/** The newest ledgers in which the service looks for the transaction that used the sequence of a guest, if it has signed nothing for the guest: 300 seconds. */
export const guestLedgers = 60

/**
 * Milliseconds until a provider is asked again for the proof that it did not have: doubled each time, up to four ledgers. After an hour
 * without a question, its transaction has ended.
 */
export const proofPause = { first: ledgerTime / 4, longest: 4 * ledgerTime, forgotten: 3600 * second } as const

/** Milliseconds for which a range of ledgers that has too many transactions is not read again. */
export const cutScanPause = 600_000

/** Milliseconds for which one provider has to be the only one that answers before its view alone is enough for a signature. */
export const signsAloneAfter = 2 * ledgerTime

// What the validators of a network have voted and decides about envelopes: reserve, fee, close time and limits of calls.

/** What one transaction may declare for a call at most. */
export interface CallLimits {
  readonly instructions: number
  readonly diskReadBytes: number
  readonly writeBytes: number
}

export interface LedgerSettings {
  /** Stroops that an account locks per entry (`LedgerHeader.baseReserve`). */
  readonly baseReserve: bigint
  /** Stroops per operation at least (`LedgerHeader.baseFee`). */
  readonly baseFee: bigint
  /** Milliseconds between two ledgers that validators aim at (`ConfigSettingSCPTiming`). Absent: not read. */
  readonly closeTime?: number
  /** Absent: not read. */
  readonly limits?: CallLimits
  /** Calls of contracts in one ledger at most, where a fee bump counts as two. Absent: not read. */
  readonly callsPerLedger?: number
}

/** Those of the public network, which count as long as no provider says others. */
export const publicSettings: LedgerSettings = { baseReserve, baseFee }

/** Milliseconds between two ledgers. */
export const ledgerTimeOf = ({ closeTime = ledgerTime }: LedgerSettings): number => closeTime

/** What is known of the present time of the network. Seconds, except for `closeTime` in unix seconds. */
export interface LedgerClock {
  /** The close time of the newest ledger. */
  readonly closeTime: number
  /** Since it was seen. The clocks of a node and of the service may differ, so only this difference counts. */
  readonly quiet: number
  /** How long before `maxTime` a node refuses an envelope. */
  readonly slack: number
}

const secondsIn = (milliseconds: number): number => milliseconds / 1000

/** `newestSince`: when the newest ledger was seen. */
export const ledgerClock = (
  closeTime: number,
  { newestSince, settings = publicSettings }: { readonly newestSince: Moment; readonly settings?: LedgerSettings },
  now: Moment
): LedgerClock => ({
  closeTime,
  quiet: Math.max(0, Math.floor(secondsIn(now - newestSince))),
  slack: Math.ceil(secondsIn(lateLedgers * ledgerTimeOf(settings)))
})

/** The units that a call declares: with the margin, but no more than the network takes of one transaction. */
export const withinLimit = (units: number, withMargin: number, limit: number | undefined): number =>
  limit === undefined ? withMargin : Math.max(units, Math.min(withMargin, limit))

/** Ledger transactions that a call counts as if another account than its source pays for it. */
const callsOfBump = 2

/** Why such a call waits in the queue for ever. */
export const noRoomForPaidCalls =
  "a ledger of this network takes one call, and a call for which another account than its source pays counts as two"

/** Whether a ledger can contain a call that another account than its source pays for. */
export const takesPaidCalls = ({ callsPerLedger = callsOfBump }: LedgerSettings): boolean =>
  callsPerLedger >= callsOfBump

// Fees of envelopes, in stroops.

const highestOf = (first: bigint, ...others: ReadonlyArray<bigint>): bigint =>
  others.reduce((highest, one) => (one > highest ? one : highest), first)

const divideUp = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor

const timesUp = (value: bigint, { numerator, denominator }: Ratio): bigint => divideUp(value * numerator, denominator)

/** What others paid per operation in the last ledgers. */
export interface FeeStats {
  readonly p95: bigint
  readonly p99: bigint
}

/** The rate per operation of a first envelope. `least`: the base fee of the network. */
export const firstRate = (stats: FeeStats | undefined, least = baseFee): bigint =>
  stats === undefined ? bidWithoutStats * least : highestOf(least, stats.p95)

/** The rate after a death or a refusal. `needed`: the rate that a node asked for. */
export const nextRate = (stats: FeeStats | undefined, needed = 0n, least = baseFee): bigint =>
  stats === undefined
    ? highestOf(firstRate(stats, least), needed)
    : highestOf(least, timesUp(stats.p99, raisedBid), needed)

/** What an envelope asks for. */
export interface Bid {
  readonly operations: number
  /** Stroops per operation. */
  readonly rate: bigint
  /** Stroops for the resources of a call. */
  readonly resourceFee?: bigint
}

/** The fee of a transaction that pays for itself. Undefined: more than its field can hold. */
export const innerFee = ({ operations, rate, resourceFee = 0n }: Bid): bigint | undefined => {
  const fee = rate * BigInt(operations) + resourceFee
  return fee > maxInnerFee ? undefined : fee
}

/**
 * The fee of a fee bump. It counts as one operation more, and its rate is at least that of the inner transaction, whose fee
 * includes the same fee of resources.
 */
export const outerFee = (
  inner: { readonly fee: bigint; readonly operations: number; readonly resourceFee?: bigint },
  rate: bigint,
  least = baseFee
): bigint => {
  const { fee, operations, resourceFee = 0n } = inner
  const count = BigInt(operations)
  const inclusion = fee - resourceFee
  const innerRate = inclusion <= 0n || count === 0n ? 0n : divideUp(inclusion, count)
  return highestOf(rate, innerRate, least) * (count + 1n) + resourceFee
}

/** The fee of the resources that is declared, from the one that a simulation returned. */
export const declaredResourceFee = (simulated: bigint): bigint => timesUp(simulated, resourceMargin)

/** The lower one of both limits, or the default of the wire format. */
export const lowerFeeCap = (given: bigint | undefined, policy: bigint | undefined, fallback: bigint): bigint => {
  if (given === undefined) return policy ?? fallback
  return policy === undefined || given < policy ? given : policy
}

/** Whether a fee of resources is higher than a simulation justifies: its larger part is not returned. */
export const isResourceFeeTooHigh = (declared: bigint, simulated: bigint, { numerator, denominator }: Ratio): boolean =>
  declared * denominator > simulated * numerator
