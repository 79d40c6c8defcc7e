// What is due for a transaction with bytes at its nonce: a signature, another send, a no-op that frees the others, or to wait.
import { Result } from "effect"
import type { Array as Arr } from "effect"
import { cause } from "../../core/Cause.ts"
import type { Cause } from "../../core/Cause.ts"
import * as Rows from "../../core/Rows.ts"
import { sign } from "../../core/Rules.ts"
import type { Sign, Situation } from "../../core/Rules.ts"
import { currentAttempts, doesTheSame, isNoop, newestRequest, requestOf } from "../../core/Transaction.ts"
import type { Attempt, Transaction } from "../../core/Transaction.ts"
import { defaultSpeed, fasterOf, rebroadcastAfter, unknownRetryAfter } from "../../core/TransactionValues.ts"
import type { Moment, Point, Speed } from "../../core/TransactionValues.ts"
import {
  chargesOf,
  costOf,
  estimateAboveLimit,
  estimatedLimitOf,
  gasCapsOf,
  givenFees,
  isEstimated,
  maxFeesOf,
  noopCeiling,
  noopChargesOf,
  priceType,
  priceWithin,
  requestCeiling,
  shortageOf,
  speedOf,
  withRollupFee
} from "./Costs.ts"
import type { Ceiling, Shortage } from "./Costs.ts"
import { isPrivate, nonceOf } from "./Evm.ts"
import type { Evm, Seen } from "./Evm.ts"
import {
  absencesBeforeRebroadcast,
  dropsBeforeShown,
  immediateBumps,
  minimumPatience,
  nextBlock,
  patienceAboveMarket,
  patienceBlocks,
  pollInterval,
  sendsBeforePassedOver
} from "./EvmNumbers.ts"
import { endOfList, isListed, listStanding, waitOfList } from "./AuthorizationRules.ts"
import type { EndOfList } from "./AuthorizationRules.ts"
import {
  asType,
  atLeast,
  atMost,
  highest,
  isAbove,
  isReplacement,
  maxFeeOf,
  minimumReplacement,
  priceOf,
  raisedFees,
  tipOf,
  toCeiling
} from "./Market.ts"
import type { Fees } from "./Market.ts"
import { isRefusedForGood, isUnderpriced, isUnexplained } from "./Refusal.ts"
import { isHeldBack, isUnpublished, privateRebroadcastAfter } from "./Route.ts"

// Whether a signature that is due can be made now: price, limits, funds and signer have to allow it.

export interface DueSignature {
  readonly kind: "bump" | "replace" | "noop"
  /** What it would offer if nothing limited it. */
  readonly fees: Fees
  /** The least fees that replace every former attempt. */
  readonly least: Fees
  /** Wei per gas that it may offer at most. Absent: no limit. */
  readonly ceiling?: Ceiling
  readonly gasLimit: bigint
  /** As in `Attempt`. */
  readonly rollupFee?: bigint
  readonly value: bigint
  /** The code while it is in flight. */
  readonly cause: Cause
}

/** The ceiling of the price, and for an execution what the limits of the API key leave per gas. */
const ceilingOf = ({ terms }: Situation<Evm>, wanted: DueSignature): Ceiling | undefined => {
  const { feeLimit } = terms
  const { kind, ceiling } = wanted
  if (kind === "noop" || feeLimit === undefined) return ceiling
  const price = priceWithin(feeLimit, wanted)
  return ceiling === undefined || price < ceiling.price ? { price, limit: "api_key" } : ceiling
}

/** `below_base_fee`: no block takes what was offered last, and what may be offered does not change that. */
const tooExpensive = (
  { view, transaction }: Situation<Evm, Seen>,
  { least }: DueSignature,
  { price: cap, limit }: Ceiling
): Cause => {
  const base_fee = view.market?.baseFee
  const newest = currentAttempts(transaction).at(-1)
  const price = newest === undefined ? 0n : maxFeeOf(newest.offer.fees)
  return base_fee !== undefined && base_fee > price
    ? cause("below_base_fee", { price, cap, limit, base_fee })
    : cause("at_cap", { price: maxFeeOf(least), cap, limit })
}

/** An unknown balance is no reason: the node refuses what cannot be paid, and nothing is lost. */
const shortage = ({ rest, view }: Situation<Evm, Seen>, wanted: DueSignature, fees: Fees): Shortage | undefined => {
  if (view.balance === undefined) return undefined
  const budget = { balance: view.balance, reserved: rest.reserved, minBalance: 0n, reserve: 0n }
  return shortageOf(costOf({ ...wanted, fees }, wanted.value), budget)
}

/** The signature, or the code of what forbids it. */
export const allowSignature = (
  situation: Situation<Evm, Seen>,
  wanted: DueSignature
): Result.Result<Sign<Evm>, Cause> => {
  const { signerRetry } = situation
  if (signerRetry !== undefined) return Result.fail(cause(signerRetry.code, { until: signerRetry.at }))
  const ceiling = ceilingOf(situation, wanted)
  const { kind, least, gasLimit, rollupFee } = wanted
  if (ceiling !== undefined && maxFeeOf(least) > ceiling.price) {
    return Result.fail(tooExpensive(situation, wanted, ceiling))
  }
  const best = atMost(atLeast(wanted.fees, least), ceiling?.price)
  const affordable = [toCeiling(best, ceiling?.price), best, least].find(
    (fees) => shortage(situation, wanted, fees) === undefined
  )
  if (affordable === undefined) {
    return Result.fail(cause("insufficient_funds", shortage(situation, wanted, least)?.figures))
  }
  const offer = { fees: affordable, gasLimit, ...withRollupFee(rollupFee) }
  return Result.succeed(sign<Evm>({ kind, offer, maxFee: maxFeesOf(offer), cause: wanted.cause }))
}

/** Nothing of the lane can be mined before the transaction at the chain's count. */
export const isHead = ({ transaction, view }: Situation<Evm, Seen>): boolean => nonceOf(transaction) === view.count

/** The head inherits the most urgent speed behind it; no-ops are at least fast. */
const speedIn = (situation: Situation<Evm, Seen>, newest: Attempt<Evm>): Speed => {
  const { transaction, rest } = situation
  const own = isNoop(newest) ? defaultSpeed : speedOf(requestOf(transaction, newest))
  return isHead(situation) ? fasterOf(own, rest.survey.urgency) : own
}

/** Each fee at least what the market asks of this speed and, if nodes have named a minimum, at least that. */
const marketPrice = (
  { view }: Situation<Evm, Seen>,
  type: Fees["type"],
  speed: Speed,
  needed: bigint | undefined
): Fees | undefined => {
  const price = view.market && priceOf(view.market, speed, type)
  if (needed === undefined) return price
  const minimum: Fees = { type: "eip1559", maxFee: needed, tip: needed }
  return price === undefined ? minimum : atLeast(price, minimum)
}

/** Why the nonce is to be used by a no-op. */
export const intentCause = ({ intent, clearCode = "gap_filled" }: Transaction<Evm>): Cause => {
  if (intent === "cancel") return cause("canceling")
  if (intent === "expire") return cause("expiring")
  const figures = clearCode === "nonce_taken_unproven" ? { answer: "give_up" as const } : {}
  return { code: clearCode, figures }
}

export interface Former {
  readonly attempts: ReadonlyArray<Attempt<Evm>>
  readonly first: Attempt<Evm>
  readonly newest: Attempt<Evm>
  /** The highest fees of all of them. */
  readonly fees: Fees
}

/** Undefined: there are no bytes at the nonce, which the ledger makes impossible. */
export const formerOf = (transaction: Transaction<Evm>): Former | undefined => {
  const attempts = currentAttempts(transaction)
  const [first, ...others] = attempts
  const newest = attempts.at(-1)
  if (first === undefined || newest === undefined) return undefined
  return { attempts, first, newest, fees: highest(first.offer.fees, ...others.map(({ offer }) => offer.fees)) }
}

const noop = (situation: Situation<Evm, Seen>, { attempts, newest, fees }: Former): DueSignature => {
  const { transaction, terms, view } = situation
  const speed = fasterOf(defaultSpeed, speedIn(situation, newest))
  const ceiling = noopCeiling(attempts, terms, view.noopGas, view.market, transaction.clearPrice)
  const least = raisedFees(fees)
  return {
    kind: "noop",
    fees: marketPrice(situation, fees.type, speed, newest.refusal?.minimumNeeded) ?? least,
    least,
    ...(ceiling === undefined ? {} : { ceiling }),
    ...noopChargesOf(view, view.market),
    value: 0n,
    cause: intentCause(transaction)
  }
}

const listIgnored = "no provider takes its authorizations into account"

/** The gas limit of the newest version, or why it is not known. */
const gasLimitOf = ({ transaction, terms, view }: Situation<Evm, Seen>): Result.Result<bigint, Cause> => {
  const { estimate } = view
  const request = newestRequest(transaction)
  const waits = waitOfList(listStanding(transaction, view))
  if (waits !== undefined) return Result.fail(waits)
  const above = estimateAboveLimit(request, estimate)
  if (above !== undefined) {
    const error = `it uses ${above.estimate} gas, and its gas_limit is ${above.gas_limit}`
    return Result.fail(cause("call_not_estimated", { error }))
  }
  if (request.gas_limit !== undefined) return Result.succeed(request.gas_limit)
  if (estimate?._tag === "Reverts") return Result.fail(cause("waits_for_predecessors"))
  if (estimate?._tag === "Refused") return Result.fail(cause("call_not_estimated", { error: estimate.words }))
  if (estimate?._tag === "Unavailable") return Result.fail(cause("call_not_estimated", { error: listIgnored }))
  if (estimate?._tag !== "Gas") return Result.fail(cause("providers_unavailable"))
  return Result.succeed(estimatedLimitOf(estimate.gas, gasCapsOf(view.head, terms.network)))
}

const execution = (
  situation: Situation<Evm, Seen>,
  former: Former,
  version: number,
  gasLimit: bigint
): DueSignature => {
  const { transaction, terms } = situation
  const request = transaction.versions[version - 1] ?? newestRequest(transaction)
  const given = givenFees(request)
  const isBump = version === former.newest.requestVersion
  const isListed = request.authorization_list !== undefined
  const type = given?.type ?? (isBump && !isListed ? former.fees.type : priceType(terms, request))
  const market = marketPrice(situation, type, speedIn(situation, former.newest), former.newest.refusal?.minimumNeeded)
  return {
    kind: isBump ? "bump" : "replace",
    fees: market ?? asType(former.fees, type),
    least: asType(raisedFees(former.fees), type),
    ceiling: requestCeiling(request, terms, former.first.offer.fees, market),
    ...(isBump ? { gasLimit, ...withRollupFee(former.newest.offer.rollupFee) } : chargesOf(gasLimit, situation.view)),
    value: request.value,
    cause: cause("underpriced_bumping", { price: maxFeeOf(former.newest.offer.fees) })
  }
}

/** A newer version keeps the fees that it gives if they replace the former ones; if others were sent since, it is raised. */
const replacement = (situation: Situation<Evm, Seen>, former: Former, gasLimit: bigint): DueSignature => {
  const { versions } = situation.transaction
  const wanted = { ...execution(situation, former, versions.length, gasLimit), cause: cause("sending", { sends: 0 }) }
  const given = givenFees(newestRequest(situation.transaction))
  if (given === undefined) return wanted
  return isReplacement(given, former.fees)
    ? { ...wanted, fees: given, least: asType(minimumReplacement(former.fees), given.type) }
    : { ...wanted, fees: given }
}

/** Attempts in a row, up to the newest, whose price nodes refused. */
const refusals = (attempts: ReadonlyArray<Attempt<Evm>>): number =>
  attempts.length - 1 - attempts.findLastIndex((attempt) => !isUnderpriced(attempt))

const isRefusedAgain = (attempts: ReadonlyArray<Attempt<Evm>>): boolean => {
  const count = refusals(attempts)
  return count > 0 && count <= immediateBumps
}

/**
 * Whether the patience of `speed` is over, `times` times. It is counted in blocks, so a chain that stands still raises no
 * price, and in time, so short blocks do not raise it many times a second.
 */
export const isPatienceOver = (speed: Speed, since: Point, now: Point, times = 1): boolean =>
  now.height - since.height >= times * patienceBlocks[speed] && now.at - since.at >= times * minimumPatience

/** What a provider says of the newest bytes in its pool. */
const inPool = ({ view }: Situation<Evm, Seen>, { newest }: Former) => {
  const sight = view.sights.get(newest.ordinal)
  return sight?._tag === "Receipt" ? undefined : sight
}

/** Whether the attempt carries authorizations. */
export const carriesList = (transaction: Transaction<Evm>, attempt: Attempt<Evm>): boolean =>
  !isNoop(attempt) && requestOf(transaction, attempt).authorization_list !== undefined

/** Whether a node refuses the newest bytes because of the accounts of their authorizations, as geth does in words. */
const isRefusedForOrder = ({ newest }: Former): boolean =>
  newest.outcome === "refused" && newest.refusal?.class === "order"

/**
 * Whether pools do not keep the newest bytes, which carry authorizations, although a block could take them: geth refuses them in words, or answers
 * a hash and drops them (since 1.17), while an account of theirs has several transactions in its pool. A full pool drops what offers least.
 */
export const isListDropped = (situation: Situation<Evm, Seen>, former: Former): boolean => {
  const { transaction } = situation
  const { newest } = former
  if (!carriesList(transaction, newest) || isPrivate(transaction, newest)) return false
  if (isBelowBaseFee(situation, former)) return false
  return isRefusedForOrder(former) || dropsOf(situation, former) > 0
}

/**
 * Whether it is not their price that keeps them out. What is dropped below the market's price is raised to it, because a full pool would keep it
 * then. It costs one raise (`raisedFees`) above the market's price at most, each time that the market has passed it again.
 */
export const isKeptOut = (situation: Situation<Evm, Seen>, former: Former): boolean =>
  isListDropped(situation, former) && (isRefusedForOrder(former) || !isBelowMarket(situation, former))

/** Accepted sends of the newest bytes that a node has not kept, if it does not have them now. */
const dropsOf = (situation: Situation<Evm, Seen>, former: Former): number => {
  const sight = inPool(situation, former)
  if (former.newest.outcome !== "accepted" || sight?._tag !== "Absent") return 0
  const { drops = 0, polls } = sight
  return drops === 0 && polls >= absencesBeforeRebroadcast ? 1 : drops
}

/** Whether all that nodes said to the newest bytes are words that nobody understands, and no provider shows that it has them. */
export const isHeldByWords = (situation: Situation<Evm, Seen>, former: Former): boolean =>
  isUnexplained(former.newest) && inPool(situation, former)?._tag !== "InPool"

/**
 * Whether the head has waited for its patience, `times` times, since its newest bytes were first sent, or since the last poll that
 * missed them: no block could include them before.
 */
export const hasWaited = (situation: Situation<Evm, Seen>, former: Former, times = 1): boolean => {
  const { view, now } = situation
  const { firstSent } = former.newest
  if (!isHead(situation) || firstSent === undefined) return false
  const sight = inPool(situation, former)
  const sent = sight?._tag === "InPool" ? (sight.missed ?? firstSent) : firstSent
  // Those who make blocks have seen it since its fallback.
  const { route } = situation.transaction
  const since = route?.kind === "fell_back" ? { ...sent, at: Math.max(sent.at, route.since ?? sent.at) } : sent
  return isPatienceOver(speedIn(situation, former.newest), since, { at: now, height: view.head.number }, times)
}

const isBelowMarket = (situation: Situation<Evm, Seen>, { newest }: Former): boolean => {
  const { market } = situation.view
  return market !== undefined && isAbove(market, speedIn(situation, newest), newest.offer.fees)
}

/** Nodes accept the newest bytes again and again, and do not have them afterwards, although blocks ask for no more than they offer. */
export const isDropped = (situation: Situation<Evm, Seen>, former: Former): boolean =>
  dropsOf(situation, former) >= dropsBeforeShown && !isBelowMarket(situation, former)

/** Whether no block can take it. */
const isBelowBaseFee = ({ view: { market } }: Situation<Evm, Seen>, { newest }: Former): boolean =>
  market?.baseFee !== undefined && market.baseFee > maxFeeOf(newest.offer.fees)

/** The head waited too long: the market has passed it, or it has waited three times as long. */
const isOverdue = (situation: Situation<Evm, Seen>, former: Former): boolean => {
  // Blocks without it prove nothing about its price: private providers reach a part of those who make blocks.
  if (isPrivate(situation.transaction, former.newest)) {
    return hasWaited(situation, former) && isBelowMarket(situation, former)
  }
  // A higher price does not change what nodes refuse for good, and raises what a no-op has to offer.
  if (isRefusedForGood(former.newest) || !hasWaited(situation, former)) return false
  // Nor what pools think of the accounts of its authorizations.
  if (isKeptOut(situation, former)) return false
  // Nor does it change what nobody understands, unless no block can take the present one.
  if (isHeldByWords(situation, former)) return isBelowBaseFee(situation, former)
  if (isBelowMarket(situation, former)) return true
  // What nodes accept and do not keep at the market's price is not too cheap: the account may lack what it would cost.
  return dropsOf(situation, former) === 0 && hasWaited(situation, former, patienceAboveMarket)
}

/** Nodes have accepted the head at least twice, and blocks that could have paid for it do not include it. */
export const isPassedOver = (situation: Situation<Evm, Seen>, former: Former): boolean => {
  const { outcome, sends } = former.newest
  if (outcome !== "accepted" || sends < sendsBeforePassedOver || situation.view.market === undefined) return false
  if (isPrivate(situation.transaction, former.newest)) return false
  return hasWaited(situation, former) && !isBelowMarket(situation, former)
}

/**
 * The tip of the transaction at the count, in wei per gas, if the chain does not take it although nothing else is in its way: a node
 * refused the price, or for its patience all blocks had room while the bytes were in the pool.
 */
export const passedOverTip = (transaction: Transaction<Evm>, view: Seen, now: Moment): bigint | undefined => {
  const newest = currentAttempts(transaction).at(-1)
  const { head, market, sights } = view
  if (newest === undefined || market === undefined || nonceOf(transaction) !== view.count) return undefined
  if (isPrivate(transaction, newest)) return undefined
  const { firstSent, offer, outcome, refusal } = newest
  const tip = tipOf(offer.fees)
  if (maxFeeOf(offer.fees) < (market.baseFee ?? 0n) + tip) return undefined
  if (outcome === "refused") return refusal?.class === "price" ? tip : undefined
  const speed = isNoop(newest) ? defaultSpeed : speedOf(requestOf(transaction, newest))
  if (firstSent === undefined || sights.get(newest.ordinal)?._tag !== "InPool") return undefined
  const isOver = isPatienceOver(speed, firstSent, { at: now, height: head.number })
  return isOver && (market.roomyBlocks ?? 0) >= patienceBlocks[speed] ? tip : undefined
}

const isNewer = ({ versions }: Transaction<Evm>, { newest }: Former): boolean => newest.requestVersion < versions.length

/** Why a newer version is never signed with its list. What was signed before is not looked at again. */
export const endOfNewer = ({ transaction, view }: Situation<Evm, Seen>, former: Former): EndOfList | undefined =>
  transaction.intent === "execute" && isNewer(transaction, former)
    ? endOfList(listStanding(transaction, view))
    : undefined

/** The authorities of a newer version are looked at before it is signed. */
export const needsAuthorities = ({ transaction, view }: Situation<Evm, Seen>, former: Former): boolean =>
  view.authorities === undefined &&
  transaction.intent === "execute" &&
  isNewer(transaction, former) &&
  isListed(transaction)

/** A newer version of a request is estimated, and its data priced, before it is signed. */
export const needsEstimate = ({ transaction, view }: Situation<Evm, Seen>, former: Former): boolean =>
  view.isInquired !== true &&
  transaction.intent === "execute" &&
  isNewer(transaction, former) &&
  (isEstimated(newestRequest(transaction)) || view.chargesForData)

/** The signature that is due. A failure says why its gas is not known. Undefined: none is due. */
export const dueOf = (
  situation: Situation<Evm, Seen>,
  former: Former
): Result.Result<DueSignature, Cause> | undefined => {
  const { transaction } = situation
  const { newest, attempts } = former
  const executes = transaction.intent === "execute"
  if (!executes && !isNoop(newest)) return Result.succeed(noop(situation, former))
  if (executes && isNewer(transaction, former)) {
    return Result.map(gasLimitOf(situation), (gasLimit) => replacement(situation, former, gasLimit))
  }
  const isRefused = isRefusedAgain(attempts) && !isPrivate(transaction, newest)
  if (!isRefused && !isOverdue(situation, former)) return undefined
  return Result.succeed(
    executes ? execution(situation, former, newest.requestVersion, newest.offer.gasLimit) : noop(situation, former)
  )
}

// When bytes that are signed are sent again, and which of them.

/** Milliseconds after a send whose outcome is unknown: doubles with each one. */
const backOff = (sends: number): number => Math.min(unknownRetryAfter * 2 ** Math.max(sends - 1, 0), rebroadcastAfter)

/** Classes of refusals that another block can turn into an acceptance. */
const temporary: ReadonlySet<string> = new Set(["funds", "window", "order"])

const delayOf = ({ terms, transaction }: Situation<Evm>, newest: Attempt<Evm>): number => {
  const { outcome, refusal, sends } = newest
  if (outcome === "unknown" || refusal?.class === "unknown") return backOff(sends)
  const isTemporary = outcome === "refused" && refusal !== undefined && temporary.has(refusal.class)
  if (isTemporary) return pollInterval(terms.network)
  return isPrivate(transaction, newest) ? privateRebroadcastAfter(terms.network) : rebroadcastAfter
}

const isAbsent = ({ view }: Situation<Evm, Seen>, { ordinal }: Attempt<Evm>): boolean => {
  const sight = view.sights.get(ordinal)
  return sight?._tag === "Absent" && sight.polls >= absencesBeforeRebroadcast
}

/**
 * Bytes that execute a request which is to be canceled, expired or cleared are never sent for the first time: nobody has
 * them. If they left before, they keep the nonce moving while no no-op can be signed.
 */
const isUnwanted = ({ transaction }: Situation<Evm>, newest: Attempt<Evm>): boolean =>
  transaction.intent !== "execute" && !isNoop(newest) && newest.sends === 0

/** Whether it is for private providers alone, and there are none. */
export const lacksProviders = ({ transaction, terms }: Situation<Evm>, newest: Attempt<Evm>): boolean =>
  !terms.hasPrivateProviders && isPrivate(transaction, newest)

/** Chains without a mempool, and private providers, drop a transaction whose predecessor they do not have. */
const hasToWait = ({ transaction, terms, lane, rest: { survey } }: Situation<Evm>, newest: Attempt<Evm>): boolean => {
  if (isHeldBack(transaction, newest, lane, survey)) return true
  const { lowestUnaccepted } = survey
  const nonce = nonceOf(transaction)
  return !terms.network.hasMempool && nonce !== undefined && lowestUnaccepted !== undefined && lowestUnaccepted < nonce
}

export type Due = "now" | "not_yet" | "after_predecessors"

export const dueIn = (situation: Situation<Evm, Seen>, newest: Attempt<Evm>): Due => {
  if (isUnwanted(situation, newest) || lacksProviders(situation, newest)) return "not_yet"
  const { lastSentAt = -Infinity } = newest
  const isLost = isAbsent(situation, newest) || isUnpublished(situation.transaction, newest)
  const isDue = isLost || situation.now - lastSentAt >= delayOf(situation, newest)
  if (!isDue) return "not_yet"
  return hasToWait(situation, newest) ? "after_predecessors" : "now"
}

/** Whether bytes are sent again although no provider of their relayer answers what became of them. */
export const isDueUnseen = (situation: Situation<Evm>, newest: Attempt<Evm>): boolean =>
  !isUnwanted(situation, newest) &&
  !lacksProviders(situation, newest) &&
  situation.now - (newest.lastSentAt ?? -Infinity) >= rebroadcastAfter

/** Whether an attempt that no node ever takes was to replace another version of the request. */
const replaces = (newest: Attempt<Evm>, attempt: Attempt<Evm>): boolean =>
  isRefusedForGood(newest) && !isNoop(newest) && !isNoop(attempt)

/**
 * The newest bytes, and older ones that do the same: if the newest are refused for their price or for funds, an older
 * attempt may be all that any pool takes. If a new version of the request is refused for good, that may also be an attempt of
 * a former version, which could still be mined in any case.
 */
export const candidates = (
  attempts: ReadonlyArray<Attempt<Evm>>,
  newest: Attempt<Evm>
): Arr.NonEmptyReadonlyArray<number> => [
  newest.ordinal,
  ...attempts
    .filter((attempt) => attempt !== newest && (doesTheSame(attempt, newest) || replaces(newest, attempt)))
    .map(({ ordinal }) => ordinal)
    .toReversed()
]

/** Waits for the next block. */
export const rows = Rows.make<Evm>(({ terms, now }) => nextBlock(terms.network, now))

export const { holdFor: hold, pollNext } = rows

/** An operator does not wait for the proof, after every provider had the nonce in a final block. */
export const isGivenUp = ({ intent, clearCode }: Transaction<Evm>): boolean =>
  intent === "clear" && clearCode === "nonce_taken_unproven"
