// Decisions about a pending transaction that only the chain can still hold: by its window, price, funds or estimate.
import { isOwnCall } from "./Admission.ts"
import type { Evm } from "./Evm.ts"
import { hold, nextPoll, pollNext } from "./Holding.ts"
import { atMost, maxFeeOf, toCeiling } from "./Fees.ts"
import type { Fees } from "./Fees.ts"
import { chargesOf, costOf, maxFeesOf, noopReserve, priceWithin, shortageOf } from "./Funds.ts"
import type { Shortage } from "./Funds.ts"
import { capsOf, isEstimated, limitOf, minimum } from "./Gas.ts"
import { estimateGrace } from "./EvmNumbers.ts"
import { floorOf } from "./Market.ts"
import type { Market } from "./Market.ts"
import { firstOffer, givenFees } from "./Offer.ts"
import { because, cause } from "../Cause.ts"
import type { Figures } from "../Cause.ts"
import { present } from "../Presentation.ts"
import * as Rows from "../Rows.ts"
import { ask, finish, firstOf, sign as signed } from "../Rules.ts"
import type { Commands, Row, Situation } from "../Rules.ts"
import { newestRequest } from "../Transaction.ts"
import { maxWaitForFunds } from "../TransactionValues.ts"
import type { Seen } from "./View.ts"

const rows = Rows.make<Evm>(nextPoll)

/** The limit that the request gives, else that of the estimate; without either what the call needs at least. */
const gasLimitOf = ({ transaction, terms, view }: Situation<Evm, Seen>): bigint => {
  const { gas_limit, to, data = "0x" } = newestRequest(transaction)
  if (gas_limit !== undefined) return gas_limit
  const { estimate } = view
  return estimate?._tag === "Gas"
    ? limitOf(estimate.gas, capsOf(view.head, terms.network))
    : minimum(to === undefined ? { data } : { to, data })
}

const chargedOf = (situation: Situation<Evm, Seen>) => chargesOf(gasLimitOf(situation), situation.view)

/** Wei per gas that policy and limits of the API key allow. Undefined: no limit. */
const capOf = (situation: Situation<Evm, Seen>): bigint | undefined => {
  const { cap, feeLimit } = situation.terms
  if (feeLimit === undefined) return cap
  const limit = priceWithin(feeLimit, chargedOf(situation))
  return cap === undefined || limit < cap ? limit : cap
}

const priceAboveCap: Row<Evm, Seen> = (situation) => {
  const { market } = situation.view
  const cap = capOf(situation)
  if (market === undefined || cap === undefined || cap >= floorOf(market)) return undefined
  const limit = cap === situation.terms.cap ? "cap" : "api_key"
  const why = cause("gas_price_above_cap", { base_fee: floorOf(market), cap, limit })
  // The limit of a key says nothing about the transactions of other keys.
  return hold(situation, why, limit === "cap" ? "relayer" : "transaction")
}

/** A nonce behind bytes that every node refuses in words that nobody understands would have to be cleared as well. */
const behindRefused: Row<Evm, Seen> = (situation) => {
  const { inFlight, survey } = situation.rest
  return survey.isRefused === true
    ? hold(situation, cause("lane_window_full", { window: inFlight, in_flight: inFlight }), "lane")
    : undefined
}

/** A nonce that no block takes would hold everything behind it. Other requests pass this one. */
const givenBelowBaseFee: Row<Evm, Seen> = (situation) => {
  const given = givenFees(newestRequest(situation.transaction))
  const base_fee = situation.view.market?.baseFee
  if (given === undefined || base_fee === undefined || maxFeeOf(given) >= base_fee) return undefined
  return hold(situation, cause("gas_price_below_base_fee", { base_fee, price: maxFeeOf(given), limit: "given" }))
}

/** Block gas limits change slowly: such a request would only cost a no-op. */
const gasAboveBlock: Row<Evm, Seen> = ({ transaction, view }) => {
  const { gas_limit } = newestRequest(transaction)
  const { gasLimit } = view.head
  if (gas_limit === undefined || gasLimit === undefined || gas_limit <= gasLimit) return undefined
  const figures = { gas_limit, block_gas_limit: gasLimit }
  return [finish({ state: "failed", cause: cause("gas_limit_above_block", figures) })]
}

/** The code of a delegated account decides what data sent to the account does. No limit was compared with that. */
const ownCall: Row<Evm, Seen> = ({ transaction, terms, view }) =>
  view.hasCode === true && isOwnCall(newestRequest(transaction), terms.address)
    ? [finish({ state: "failed", cause: cause("own_account_has_code") })]
    : undefined

const needsEstimate = ({ transaction }: Situation<Evm>): boolean => isEstimated(newestRequest(transaction))

/** What a signature needs to know. */
interface OfferInputs {
  readonly fees: Fees
  readonly market: Market
  readonly balance: bigint
}

const knownOf = (situation: Situation<Evm, Seen>): OfferInputs | undefined => {
  const { transaction, terms, view } = situation
  const { market, balance } = view
  const offer = firstOffer(newestRequest(transaction), terms, market)
  if (offer === undefined || market === undefined || balance === undefined) return undefined
  const cap = capOf(situation)
  const fees = atMost(offer, cap)
  const isGiven = givenFees(newestRequest(transaction)) !== undefined
  return { fees: isGiven ? fees : toCeiling(fees, cap), market, balance }
}

const unknown: Row<Evm, Seen> = (situation) => {
  const { estimate, firstPrice } = situation.view
  if (knownOf(situation) === undefined) {
    return hold(situation, cause("providers_unavailable", present("price", firstPrice)), "providers")
  }
  // What its data costs is not known.
  const isUnpriced = estimate?._tag === "Unknown" && !needsEstimate(situation)
  return isUnpriced ? hold(situation, cause("providers_unavailable"), "relayer") : undefined
}

const shortage = (situation: Situation<Evm, Seen>): Shortage | undefined => {
  const { transaction, rest, terms, view } = situation
  const known = knownOf(situation)
  if (known === undefined) return undefined
  const { value } = newestRequest(transaction)
  const required = costOf({ fees: known.fees, ...chargedOf(situation) }, value)
  return shortageOf(required, {
    balance: known.balance,
    reserved: rest.reserved,
    minBalance: terms.minBalance,
    reserve: noopReserve(known.market, view)
  })
}

const short = (situation: Situation<Evm, Seen>, figures: Figures, isOfRelayer: boolean): Commands<Evm> => {
  const until = Rows.fundsDeadline(situation, newestRequest(situation.transaction).wait_for_funds === true)
  const why = cause("insufficient_funds", until === undefined ? figures : { ...figures, until })
  return until !== undefined && situation.now >= until
    ? [finish({ state: "failed", cause: why })]
    : hold(situation, why, isOfRelayer ? "relayer" : "providers")
}

const funds: Row<Evm, Seen> = (situation) => {
  const missing = shortage(situation)
  if (missing !== undefined) return short(situation, missing.figures, missing.isOfRelayer)
  return needsEstimate(situation) && situation.view.estimate?._tag === "Unaffordable"
    ? short(situation, {}, false)
    : undefined
}

/**
 * The chain goes on, and this call alone has no estimate: others pass it, and time ends it, whatever is in flight. `error`: what a
 * node says about it.
 */
const notEstimated = (situation: Situation<Evm, Seen>, error: string): Commands<Evm> => {
  const { transaction, now } = situation
  const until = (transaction.cause?.code === "call_not_estimated" ? transaction.causeSince : now) + maxWaitForFunds
  const why = cause("call_not_estimated", { error, until })
  return now >= until ? [finish({ state: "failed", cause: why })] : hold(situation, why)
}

/** No answer, or two different ones: the next block may bring an answer. */
const notEstimatedYet = (situation: Situation<Evm, Seen>, error: string): Commands<Evm> => {
  const { cause: before, causeSince } = situation.transaction
  if (before?.code === "call_not_estimated") return notEstimated(situation, error)
  const since = before?.code === "providers_unavailable" ? causeSince : situation.now
  return situation.now - since < estimateGrace
    ? hold(situation, cause("providers_unavailable"), "relayer")
    : notEstimated(situation, error)
}

/**
 * A call may only fail now because a predecessor is not mined yet: approve and transferFrom, sent one after the other. A
 * pending predecessor of its relayer cannot be there: `Queue.ts` decides about this one only after it.
 */
const withoutGas: Row<Evm, Seen> = (situation) => {
  const { view, rest } = situation
  const { estimate = { _tag: "Unknown" } } = view
  if (!needsEstimate(situation)) return undefined
  if (estimate._tag === "Unknown") return notEstimatedYet(situation, "no answer")
  if (estimate._tag === "Refused") return notEstimated(situation, estimate.words)
  if (estimate._tag !== "Reverts") return undefined
  if (rest.inFlight > 0) return hold(situation, cause("waits_for_predecessors"), "relayer")
  const { reason } = estimate
  if (estimate.second === "differs") {
    return notEstimatedYet(situation, `one provider says that it reverts${because(reason)}; another one does not`)
  }
  const why = cause("would_revert", reason === undefined ? {} : { revert_reason: reason })
  return [finish({ state: "failed", cause: why })]
}

const sign = (situation: Situation<Evm, Seen>): Commands<Evm> => {
  const known = knownOf(situation)
  if (known === undefined) return hold(situation, cause("providers_unavailable"), "providers")
  const why = cause("sending", { price: maxFeeOf(known.fees), sends: 0 })
  const offer = { fees: known.fees, ...chargedOf(situation) }
  const signature = signed<Evm>({ kind: "original", offer, maxFee: maxFeesOf(offer), cause: why })
  return [signature, pollNext(situation)]
}

/** A call is estimated, and its data priced, before anything else is asked of the chain. */
const inquiry: Row<Evm, Seen> = ({ transaction, view }) =>
  view.isInquired !== true && (isEstimated(newestRequest(transaction)) || view.chargesForData)
    ? [ask<Evm>({ _tag: "Estimate" })]
    : undefined

export const decideFirstSignature = firstOf<Evm, Seen>(
  [
    // The first row that holds decides.
    gasAboveBlock,
    ownCall,
    rows.signer,
    rows.windowFull,
    behindRefused,
    givenBelowBaseFee,
    inquiry,
    priceAboveCap,
    unknown,
    funds,
    withoutGas
  ],
  sign
)
