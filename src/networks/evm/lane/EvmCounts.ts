// What a poll says about the nonces of a lane: which count is believed, which nonces are unused, which a deep reorganisation
// has opened, and which transactions of the account the ledger does not know.
import { Effect } from "effect"
import { answeredFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { AnsweredSet, Filler, LaneReading, PollOptions } from "../../../server/lanes/LaneNetwork.ts"
import type { LaneLost } from "../../../server/ledger/LedgerEntries.ts"
import { cause } from "../../core/Cause.ts"
import type { Cause } from "../../core/Cause.ts"
import { present } from "../../core/Presentation.ts"
import { sign } from "../../core/Rules.ts"
import type { OwnDoubt } from "../../core/Rules.ts"
import { isFinal } from "../../core/Transaction.ts"
import type { Lane } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { blockAt } from "../chain/EvmCalls.ts"
import { findTaker } from "../chain/EvmEvidence.ts"
import type { EvmProviders } from "../chain/EvmNodes.ts"
import { evmTermsOf } from "../rules/Admission.ts"
import { maxFeesOf, noopChargesOf, priceType } from "../rules/Costs.ts"
import { isUnsignedSecond, recordedBy } from "../rules/Delegation.ts"
import { laneOf, nonceOf, noncesOf } from "../rules/Evm.ts"
import type { Evm, Nonces, TakerEvidence } from "../rules/Evm.ts"
import { indexPatience, networkNumbers, stillAfter, windowLimitOf } from "../rules/EvmNumbers.ts"
import { believedFloor, findGaps, settleNonces } from "../rules/LaneNonces.ts"
import type { FloorStep } from "../rules/LaneNonces.ts"
import { marketFor, priceOf } from "../rules/Market.ts"
import { beliefsOf, noopRequest, numbersOf, providersOf } from "./EvmContext.ts"
import type { Beliefs, EvmContext, EvmRelayer, PollResult } from "./EvmContext.ts"

// Which transactions used the nonces of a lane. Before anything is signed for the first time, each of them is an attempt of the
// ledger, or it was fetched and compared: a ledger that was put back from a copy has forgotten some of its own.

/** Polls in a row without an explanation, after which every open request counts as one that may have been executed. */
const maxPolls = 10

/** Milliseconds that the clocks of blocks and of the service may differ. */
const clocks = 60_000

const atOnce = { concurrency: 8 } as const

type Taker = Extract<TakerEvidence, { readonly _tag: "Fetched" }>

/** What used a nonce: a transaction of the account, or an authorization of it. */
type User = Pick<Taker, "nonce" | "block"> & Partial<Pick<Taker, "hash" | "call">>

/** `Behind`: no provider shows it, and the index of one of them lags behind the count, or none of them answers. */
type Use = User | "Behind" | undefined

interface Explained {
  /** Transactions of the account that are no attempts of the ledger. Undefined in it: one that nobody can show. */
  readonly foreign: ReadonlyArray<Evm["foreign"]>
  /** The lowest nonce that is not explained. Absent: all are. */
  readonly missing?: number
  /** An index that lags behind the count does not show what used the nonce of `missing`. */
  readonly isBehind?: true
  /** At the first poll: every nonce below it was used before the oldest open transaction was accepted. */
  readonly settled?: number
  /** At the first poll: more nonces than the window were used since. */
  readonly isTooMany?: true
}

interface NonceSearch {
  readonly context: EvmContext
  readonly beliefs: Beliefs
  /** Whether open requests count as executed if these providers cannot show for long what used a nonce. */
  readonly mayGiveUp: boolean
  readonly options: PollOptions<Evm>
  readonly relayer: EvmRelayer
  readonly providers: EvmProviders
  readonly poll: PollResult
}

/** The signature of a transaction proves it, so one provider is enough. Providers that cannot show it are skipped. */
const takerOf = ({ context: { address }, relayer, providers, poll }: NonceSearch, nonce: number) => {
  const sought = { address, nonce, hashes: [], finality: numbersOf(relayer).finality }
  const head = poll.base.head.number
  // Without an answer, nothing is known either.
  let isUnable = false
  let isBehind = false
  const one = providers.first(
    Effect.fnUntraced(function* (node): Effect.fn.Return<User, RpcFailure> {
      const taker = yield* findTaker(providers, node, sought, head)
      if (taker._tag === "Fetched" && taker.sender === address && taker.nonce === nonce) return taker
      if (taker._tag === "Authorized") return { nonce, block: taker.block }
      isBehind ||= taker._tag === "Behind"
      isUnable ||= taker._tag !== "Behind"
      return yield* answeredFailure("invalid_answer")
    })
  )
  return Effect.orElseSucceed(one, (): Use => (isBehind || !isUnable ? "Behind" : undefined))
}

const isUser = (use: Use): use is User => use !== undefined && use !== "Behind"

/** Nonces that an attempt used, according to receipts. */
const ownIn = ({ context: { memory }, options: { rows } }: NonceSearch): ReadonlySet<number> => {
  const own = new Set<number>()
  for (const { transaction } of rows) {
    const nonce = nonceOf(transaction)
    if (nonce === undefined || isFinal(transaction)) continue
    const views = [...memory.polls.values()].map((poll) => poll.views.get(transaction.number))
    const hasReceipt = views.some((view) => [...(view?.sights.values() ?? [])].some(({ _tag }) => _tag === "Receipt"))
    if (transaction.mined !== undefined || hasReceipt) own.add(nonce)
    // Its row was committed with the bytes that use the nonce, too.
    if (isUnsignedSecond(transaction)) own.add(nonce)
  }
  return own
}

const foreignAmong = Effect.fnUntraced(function* ({ options }: NonceSearch, users: ReadonlyArray<User>) {
  const hashes = users.flatMap(({ hash }) => hash ?? [])
  if (hashes.length === 0) return []
  const [own, given] = yield* Effect.all([options.own(hashes), options.given(hashes)])
  return users.flatMap(({ hash, call }) => (hash === undefined || own.has(hash) || given.has(hash) ? [] : [call]))
})

const isOlder = Effect.fnUntraced(function* ({ options, providers }: NonceSearch, { block }: User) {
  const oldest = options.rows[0].transaction.createdAt
  const asked = providers.first((node) => node.call(blockAt(block)))
  const { timestamp } = (yield* Effect.orElseSucceed(asked, () => null)) ?? {}
  return timestamp !== undefined && Number(timestamp) * 1000 < oldest - clocks
})

/** Downwards from the count, until a transaction is older than every open one. */
const explainFirst = Effect.fnUntraced(function* (search: NonceSearch, count: number, limit: number) {
  const takers: Array<User> = []
  let nonce = count
  let isBehind = false
  while (nonce > 0) {
    if (takers.length >= limit) return { foreign: [], isTooMany: true } satisfies Explained
    const taker = yield* takerOf(search, nonce - 1)
    isBehind = taker === "Behind"
    if (!isUser(taker)) break
    if (yield* isOlder(search, taker)) return { foreign: yield* foreignAmong(search, takers), settled: nonce }
    takers.push(taker)
    remember(search, taker)
    nonce -= 1
  }
  const foreign = yield* foreignAmong(search, takers)
  const found: Explained =
    nonce === 0 ? { foreign, settled: 0 } : { foreign, missing: nonce - 1, ...(isBehind ? { isBehind: true } : {}) }
  return found
})

/** Until its block is final, another transaction can take its nonce. */
const remember = ({ beliefs, poll: { base } }: NonceSearch, { nonce, block }: User): void => {
  if (block <= base.finalHeight) beliefs.explained.add(nonce)
}

const explainLater = Effect.fnUntraced(function* (search: NonceSearch, nonces: ReadonlyArray<number>, limit: number) {
  const asked = nonces.slice(0, limit)
  const found = yield* Effect.forEach(asked, (nonce) => takerOf(search, nonce), atOnce)
  const takers = found.filter(isUser)
  for (const taker of takers) remember(search, taker)
  const index = found.findIndex((taker) => !isUser(taker))
  const missing = index === -1 ? nonces[limit] : asked[index]
  const explained: Explained = {
    foreign: yield* foreignAmong(search, takers),
    ...(missing === undefined ? {} : { missing }),
    ...(found[index] === "Behind" ? { isBehind: true as const } : {})
  }
  return explained
})

/** No provider can show what used the nonces, so each open request could have used them. */
const givenUp = ({ beliefs }: NonceSearch, nonces: ReadonlyArray<number>): Explained => {
  beliefs.unexplained = 0
  beliefs.behind = undefined
  for (const nonce of nonces) beliefs.explained.add(nonce)
  return { foreign: [undefined] }
}

/**
 * Without those that a final transaction of the ledger used: its block was final, and nodes that have pruned it cannot show it any
 * more.
 */
const withoutMined = Effect.fnUntraced(function* ({ beliefs, options }: NonceSearch, nonces: ReadonlyArray<number>) {
  const [lowest] = nonces
  if (lowest === undefined) return nonces
  for (const nonce of yield* options.mined(BigInt(lowest))) beliefs.explained.add(Number(nonce))
  return nonces.filter((nonce) => !beliefs.explained.has(nonce))
})

/** A look at an index that lags is not complete, so it does not count: the same look is repeated. */
const noteExplained = ({ beliefs, options: { now } }: NonceSearch, { missing, isBehind }: Explained): void => {
  const { behind } = beliefs
  if (missing === undefined) beliefs.unexplained = 0
  else if (isBehind !== true) beliefs.unexplained += 1
  const isSame = behind !== undefined && behind.nonce === missing
  beliefs.behind =
    missing === undefined || isBehind !== true ? undefined : { nonce: missing, since: isSame ? behind.since : now }
}

/** Whether providers have failed to show what used a nonce for as long, or in as many polls, as the lane waits for it. */
const isHopeless = ({ beliefs, options: { now } }: Pick<NonceSearch, "beliefs" | "options">): boolean =>
  beliefs.unexplained >= maxPolls || now - (beliefs.behind?.since ?? now) >= indexPatience

/** Explains each nonce between those that are settled and the count of the poll. */
const explainNonces = Effect.fnUntraced(function* (search: NonceSearch) {
  const { beliefs, mayGiveUp, options, relayer, poll } = search
  const { chainBlock, nextNonce, settledNonce } = noncesOf(options.lane)
  const { count } = poll.lane
  const { window } = numbersOf(relayer)
  const limit = options.stored.trustsCount ? Math.max(window, count) : window
  if (chainBlock !== undefined && count - nextNonce > limit) return { foreign: [], isTooMany: true } satisfies Explained
  const own = ownIn(search)
  for (const nonce of beliefs.explained) if (nonce < settledNonce) beliefs.explained.delete(nonce)
  const nonces: Array<number> = []
  for (let nonce = settledNonce; nonce < count && nonces.length <= limit; nonce++) {
    if (!own.has(nonce) && !beliefs.explained.has(nonce)) nonces.push(nonce)
  }
  const open = yield* withoutMined(search, nonces)
  if (open.length === 0) {
    beliefs.unexplained = 0
    beliefs.behind = undefined
    return { foreign: [] } satisfies Explained
  }
  const found: Explained =
    chainBlock === undefined ? yield* explainFirst(search, count, limit) : yield* explainLater(search, open, limit)
  noteExplained(search, found)
  return mayGiveUp && isHopeless(search) ? givenUp(search, open) : found
})

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
  { base }: PollResult,
  nonces: ReadonlyArray<number>
): ReadonlyArray<Filler<Evm>> => {
  if (base.market === undefined || !canSign) return []
  const market = marketFor(base.market, { network: networkNumbers(target.network) })
  const fees = priceOf(market, "fast", priceType({ isEip1559: evmTermsOf(target).network.isEip1559 }))
  const offer = { fees, ...noopChargesOf(base, market) }
  return nonces.map((nonce) => ({
    place: { account: address, sequence: BigInt(nonce) },
    request: noopRequest(address),
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
  { lane: { count } }: PollResult
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
  { base: { head } }: PollResult,
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
type Source = AnsweredSet<Evm, PollResult>

/** The lane with what it remembers of the delegation of its account, and of the one that has bytes now. */
const remembering = (lane: Lane<Evm>, { lane: before, rows }: PollOptions<Evm>): Lane<Evm> => {
  const [former] = before.accounts
  const [own] = lane.accounts
  const delegation = recordedBy(
    rows.map(({ transaction }) => transaction),
    lane.generation
  )
  return {
    ...lane,
    accounts: [
      {
        ...own,
        ...present("counters", delegation === undefined ? former.counters : { delegation }),
        ...present("watched", former.watched)
      }
    ]
  }
}

/** Believes or doubts the count of a poll. `mayGiveUp`: as in `EvmCounts.ts`. */
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
  const explained = yield* explainNonces({ context, beliefs, mayGiveUp, options, relayer, providers, poll })
  if (beliefs.unexplained > 0 && beliefs.unexplained % pollsBeforeDemotion === 0) yield* providers.demote(poll.node)
  const view = { ...poll.lane, isExplained: explained.missing === undefined && explained.isTooMany !== true }
  const step = believedFloor(before, view, beliefs.claim, stored.trustsCount ? Infinity : window, explained.settled)
  beliefs.claim = step.claim
  const { chainNonce } = step.lane
  const { count } = poll.lane
  const { committed, hasFinal } = count === chainNonce ? yield* committedAbove(options, step.lane, count) : nothing
  const filled = findGaps(step.lane, count, committed, window)
  beliefs.finalCount = Math.max(beliefs.finalCount, poll.finalCount)
  const lowestOpen = totals.lowestOpen === undefined ? undefined : Number(totals.lowestOpen)
  const stop = stopOf(options, step, explained, poll)
  const settled = stop === undefined ? settleNonces(filled.lane, beliefs.finalCount, lowestOpen) : filled.lane
  const limit = windowLimitOf(numbersOf(relayer), memory.accountCode?.code ?? "0x")
  const windowSize = Math.max(Math.min(lane.windowSize, limit), 1)
  const genesis = stored.genesis ?? (yield* providers.genesis)
  const unsettled = unsettledBefore(beliefs, options, relayer, poll, stop !== undefined)
  const reading: LaneReading<Evm> = {
    lane: remembering(laneOf({ ...settled, windowSize }), options),
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
