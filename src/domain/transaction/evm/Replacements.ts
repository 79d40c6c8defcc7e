// The signature that is due at a nonce that already has bytes: a no-op, a newer version of the request, or a higher price.
import { Result } from "effect"
import type { DueSignature } from "./Allowance.ts"
import { isRefusedForGood, isUnderpriced, isUnexplained } from "./Refusal.ts"
import { nonceOf } from "./Evm.ts"
import type { Evm } from "./Evm.ts"
import { atLeast, highest, maxFeeOf, isReplacement, minimumReplacement, raised, tipOf } from "./Fees.ts"
import type { Fees } from "./Fees.ts"
import { chargesOf, noopChargesOf, withRollupFee } from "./Funds.ts"
import { capsOf, isEstimated, limitOf } from "./Gas.ts"
import { isAbove, priceOf } from "./Market.ts"
import {
  absencesBeforeRebroadcast,
  dropsBeforeShown,
  immediateBumps,
  minimumPatience,
  patienceAboveMarket,
  patienceBlocks,
  sendsBeforePassedOver
} from "./EvmNumbers.ts"
import { givenFees, noopCeiling, priceType, requestCeiling, speedOf } from "./Offer.ts"
import { cause } from "../Cause.ts"
import type { Cause } from "../Cause.ts"
import type { Situation } from "../Rules.ts"
import { currentAttempts, isNoop, newestRequest, requestOf } from "../Transaction.ts"
import type { Attempt, Transaction } from "../Transaction.ts"
import { defaultSpeed, fasterOf } from "../TransactionValues.ts"
import type { Moment, Point, Speed } from "../TransactionValues.ts"
import type { Seen } from "./View.ts"

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
  const least = raised(fees)
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

/** The gas limit of the newest version, or why it is not known. */
const gasLimitOf = ({ transaction, terms, view }: Situation<Evm, Seen>): Result.Result<bigint, Cause> => {
  const { gas_limit } = newestRequest(transaction)
  if (gas_limit !== undefined) return Result.succeed(gas_limit)
  const { estimate } = view
  if (estimate?._tag === "Reverts") return Result.fail(cause("waits_for_predecessors"))
  if (estimate?._tag === "Refused") return Result.fail(cause("call_not_estimated", { error: estimate.words }))
  if (estimate?._tag !== "Gas") return Result.fail(cause("providers_unavailable"))
  return Result.succeed(limitOf(estimate.gas, capsOf(view.head, terms.network)))
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
  const type = given?.type ?? (isBump ? former.fees.type : priceType(terms))
  const market = marketPrice(situation, type, speedIn(situation, former.newest), former.newest.refusal?.minimumNeeded)
  return {
    kind: isBump ? "bump" : "replace",
    fees: market ?? former.fees,
    least: raised(former.fees),
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
    ? { ...wanted, fees: given, least: minimumReplacement(former.fees) }
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
const hasWaited = (situation: Situation<Evm, Seen>, former: Former, times = 1): boolean => {
  const { view, now } = situation
  const { firstSent } = former.newest
  if (!isHead(situation) || firstSent === undefined) return false
  const sight = inPool(situation, former)
  const since = sight?._tag === "InPool" ? (sight.missed ?? firstSent) : firstSent
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
  // A higher price does not change what nodes refuse for good, and raises what a no-op has to offer.
  if (isRefusedForGood(former.newest) || !hasWaited(situation, former)) return false
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
  if (!isRefusedAgain(attempts) && !isOverdue(situation, former)) return undefined
  return Result.succeed(
    executes ? execution(situation, former, newest.requestVersion, newest.offer.gasLimit) : noop(situation, former)
  )
}
