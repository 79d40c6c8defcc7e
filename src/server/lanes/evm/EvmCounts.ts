// What a poll says about the nonces of a lane: which count is believed, which nonces are unused, which a deep reorganisation
// has opened, and which transactions of the account the ledger does not know.
import { Effect } from "effect"
import { floor } from "../../../domain/transaction/evm/BelievedCount.ts"
import type { FloorStep } from "../../../domain/transaction/evm/BelievedCount.ts"
import { laneOf, nonceOf, noncesOf } from "../../../domain/transaction/evm/Evm.ts"
import type { Evm, Nonces } from "../../../domain/transaction/evm/Evm.ts"
import { evmTermsOf } from "../../../domain/transaction/evm/EvmTerms.ts"
import { maxFeesOf, noopChargesOf } from "../../../domain/transaction/evm/Funds.ts"
import { stillAfter } from "../../../domain/transaction/evm/EvmNumbers.ts"
import { findGaps, settle } from "../../../domain/transaction/evm/Gaps.ts"
import { marketFor, priceOf } from "../../../domain/transaction/evm/Market.ts"
import { networkNumbers, windowLimitOf } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import { priceType } from "../../../domain/transaction/evm/Offer.ts"
import { cause } from "../../../domain/transaction/Cause.ts"
import type { Cause } from "../../../domain/transaction/Cause.ts"
import { sign } from "../../../domain/transaction/Rules.ts"
import type { OwnDoubt } from "../../../domain/transaction/Rules.ts"
import { isFinal } from "../../../domain/transaction/Transaction.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { LaneLost } from "../../ledger/LedgerEntries.ts"
import type { Filler, LaneReading, PollOptions } from "../LaneNetwork.ts"
import { explain, isHopeless } from "./EvmExplained.ts"
import type { Explained } from "./EvmExplained.ts"
import { beliefsOf, numbersOf, providersOf } from "./EvmMemory.ts"
import type { Beliefs, EvmContext, EvmRelayer } from "./EvmMemory.ts"
import type { EvmPoll } from "./EvmMemory.ts"
import { noop } from "./EvmSigner.ts"

/** Nonces from the count on that transactions have. `hasFinal`: some of these are final. */
const committedAbove = Effect.fnUntraced(function* (
  { rows, committed }: PollOptions<Evm>,
  lane: Nonces,
  count: number
) {
  const open = rows.flatMap(({ transaction }) => {
    const nonce = nonceOf(transaction)
    return nonce !== undefined && nonce >= count && !isFinal(transaction) ? [nonce] : []
  })
  if (open.length >= lane.nextNonce - count) return { committed: open, hasFinal: false }
  const all = (yield* committed(BigInt(count))).map(Number)
  return { committed: all, hasFinal: all.length > open.length }
})

/** A no-op for each nonce that nothing uses. */
const fillersFor = (
  { canSign }: PollOptions<Evm>,
  { address }: EvmContext,
  { target }: EvmRelayer,
  { base }: EvmPoll,
  nonces: ReadonlyArray<number>
): ReadonlyArray<Filler<Evm>> => {
  if (base.market === undefined || !canSign) return []
  const market = marketFor(base.market, { network: networkNumbers(target.network) })
  const fees = priceOf(market, "fast", priceType({ isEip1559: evmTermsOf(target).network.isEip1559 }))
  const offer = { fees, ...noopChargesOf(base, market) }
  return nonces.map((nonce) => ({
    place: { account: address, sequence: BigInt(nonce) },
    request: noop(address),
    sign: sign<Evm>({ kind: "noop", offer, maxFee: maxFeesOf(offer), cause: cause("gap_filled") })
  }))
}

/**
 * A lane that waits for an operator keeps waiting while its count is neither confirmed nor withdrawn. That is so if there was
 * no block since, or if the process has just claimed the lane.
 */
const isAhead = ({ stored }: PollOptions<Evm>, { code, claim }: FloorStep, { isTooMany }: Explained): boolean =>
  code === "nonce_ahead" || isTooMany === true || (stored.code === "nonce_ahead" && claim !== undefined)

/** Nothing is signed for the first time while a used nonce is not explained, or the count is above the next nonce. */
const stopOf = (
  options: PollOptions<Evm>,
  step: FloorStep,
  explained: Explained,
  { lane: { count } }: EvmPoll
): Cause | undefined => {
  const { nextNonce } = step.lane
  if (step.code === "nonce_out_of_range") return cause(step.code)
  if (isAhead(options, step, explained)) return cause("nonce_ahead", { count, next_nonce: nextNonce })
  const { missing = count > nextNonce ? nextNonce : undefined } = explained
  return missing === undefined ? undefined : cause("nonce_unexplained", { nonce: missing, count })
}

/** The other provider is asked first if this one shows a count for long that it cannot explain. */
const pollsBeforeDemotion = 3

/**
 * How long a lane waits for a block that is younger than the start of the database. While the chain shows the same block: `blocks` block
 * times, but at least `stillAfter`. While it shows other blocks that are all older: `longest` milliseconds.
 */
const settling = { blocks: 2, longest: 600_000 } as const

/**
 * The start of the database, if no poll is younger than it. Undefined: this poll, or an earlier one, is younger. Transactions that
 * were accepted before the start get no place before a younger poll, because the database may have been restored from a copy, and
 * a node that lags may not show yet what was sent since. A poll with a doubt does not count as younger.
 */
const unsettledBefore = (
  beliefs: Beliefs,
  { stored: { databaseStartedAt: start = -Infinity }, now }: PollOptions<Evm>,
  relayer: EvmRelayer,
  { base: { head } }: EvmPoll,
  isDoubted: boolean
): Moment | undefined => {
  if (start <= beliefs.seenStart) return undefined
  if (isDoubted) return start
  if (beliefs.firstAfterStart?.start !== start) beliefs.firstAfterStart = { start, at: now, head: head.hash }
  const { at, head: before } = beliefs.firstAfterStart
  const isStill = head.timestamp === undefined || head.hash === before
  const { blockTime } = numbersOf(relayer)
  const wait = isStill ? Math.max(stillAfter, settling.blocks * blockTime) : settling.longest
  const isYounger = head.timestamp !== undefined && head.timestamp > start
  if (!isYounger && now - at < wait) return start
  beliefs.seenStart = start
  return undefined
}

const nothing = { committed: [], hasFinal: false }

/** The poll of one set of providers, and the relayer with the oldest row that uses them. */
export interface Source {
  readonly relayer: EvmRelayer
  readonly poll: EvmPoll
}

/** Believes or doubts the count of a poll. `mayGiveUp`: as in `EvmExplained.ts`. */
const read = Effect.fnUntraced(function* (
  context: EvmContext,
  options: PollOptions<Evm>,
  { relayer, poll }: Source,
  mayGiveUp: boolean
) {
  const { memory } = context
  const beliefs = beliefsOf(memory, relayer.urlsKey)
  const { lane, stored, totals } = options
  const before = noncesOf(lane)
  const { window } = numbersOf(relayer)
  const providers = yield* providersOf(context, relayer)
  const explained = yield* explain({ context, beliefs, mayGiveUp, options, relayer, providers, poll })
  if (beliefs.unexplained > 0 && beliefs.unexplained % pollsBeforeDemotion === 0) yield* providers.demote(poll.node)
  const view = { ...poll.lane, isExplained: explained.missing === undefined && explained.isTooMany !== true }
  const step = floor(before, view, beliefs.claim, stored.trustsCount ? Infinity : window, explained.settled)
  beliefs.claim = step.claim
  const { chainNonce } = step.lane
  const { count } = poll.lane
  const { committed, hasFinal } = count === chainNonce ? yield* committedAbove(options, step.lane, count) : nothing
  const filled = findGaps(step.lane, count, committed, window)
  beliefs.finalCount = Math.max(beliefs.finalCount, poll.finalCount)
  const lowestOpen = totals.lowestOpen === undefined ? undefined : Number(totals.lowestOpen)
  const stop = stopOf(options, step, explained, poll)
  const settled = stop === undefined ? settle(filled.lane, beliefs.finalCount, lowestOpen) : filled.lane
  const limit = windowLimitOf(numbersOf(relayer), memory.accountCode?.code ?? "0x")
  const windowSize = Math.max(Math.min(lane.windowSize, limit), 1)
  const genesis = stored.genesis ?? (yield* providers.genesis)
  const unsettled = unsettledBefore(beliefs, options, relayer, poll, stop !== undefined)
  const reading: LaneReading<Evm> = {
    lane: laneOf({ ...settled, windowSize }),
    windowLimit: limit,
    ...(stop === undefined ? {} : { stop }),
    ...(genesis === undefined ? {} : { genesis }),
    usedTrust: stored.trustsCount && step.claim === undefined,
    ...(hasFinal ? { openFrom: BigInt(count) } : {}),
    fillers: fillersFor(options, context, relayer, poll, filled.gaps),
    foreign: explained.foreign
  }
  return { reading, unsettled }
})

/** What the polls say about the lane, and the doubts of each set of providers, by `LaneRelayer.urlsKey`. */
interface Readings {
  readonly reading?: LaneReading<Evm>
  readonly doubts: ReadonlyMap<string, OwnDoubt>
}

/** Transactions that their signatures prove. Whichever provider showed them, they are transactions of the account. */
const provenIn = ({ foreign }: LaneReading<Evm>) => foreign.filter((one) => one !== undefined)

const withProven = (reading: LaneReading<Evm>, proven: ReadonlyArray<Evm["foreign"]>): LaneReading<Evm> => ({
  ...reading,
  foreign: [...proven, ...reading.foreign]
})

/** Whether the set has shown a poll that is younger than the start of the database. */
const isSettled = (
  { memory }: EvmContext,
  { stored: { databaseStartedAt: start = -Infinity } }: PollOptions<Evm>,
  { relayer }: Source
): boolean => start <= beliefsOf(memory, relayer.urlsKey).seenStart

/**
 * The first set of providers without a doubt gives the counters of the lane. A set with a poll that is younger than the start of the
 * database comes before the others. A doubt of a set holds only the rows that use the set, and its answers free no other rows. If
 * each set has a doubt, the lane has the doubt of the first set.
 */
export const readAll = Effect.fnUntraced(function* (
  context: EvmContext,
  options: PollOptions<Evm>,
  sources: ReadonlyArray<Source>
): Effect.fn.Return<Readings, LaneLost> {
  const [first, ...others] = sources
  const doubts = new Map<string, OwnDoubt>()
  const readings: Array<LaneReading<Evm>> = []
  let leading: LaneReading<Evm> | undefined
  let lagging: LaneReading<Evm> | undefined
  let doubted: LaneReading<Evm> | undefined
  for (const source of sources) {
    if (leading !== undefined && isSettled(context, options, source)) continue
    const { reading, unsettled } = yield* read(context, options, source, others.length === 0)
    readings.push(reading)
    const isDoubted = reading.stop !== undefined && others.length > 0
    const isFirst = leading === undefined && lagging === undefined
    doubts.set(source.relayer.urlsKey, {
      ...(isDoubted && isFirst && reading.stop !== undefined ? { ownStop: reading.stop } : {}),
      ...(unsettled === undefined ? {} : { unsettledBefore: unsettled })
    })
    if (isDoubted) doubted ??= reading
    else if (unsettled === undefined) leading ??= reading
    else lagging ??= reading
  }
  const found = leading ?? lagging ?? doubted
  if (first === undefined || found === undefined) return { doubts }
  // No other set of providers can show what used the nonces: the first set gives up, as the only set does.
  const beliefs = beliefsOf(context.memory, first.relayer.urlsKey)
  const isGivenUp = found === doubted && isHopeless({ beliefs, options })
  const reading = isGivenUp ? (yield* read(context, options, first, true)).reading : found
  const proven = readings.filter((other) => other !== found).flatMap(provenIn)
  return { reading: withProven(reading, proven), doubts }
})
