// Decisions about a pending transaction that only the chain can still hold: by its window, price, funds or estimate.
import { cause } from "./Cause.ts"
import type { Figures } from "./Cause.ts"
import { Command } from "./Command.ts"
import type { Commands } from "./Command.ts"
import { atMost, maxFeeOf } from "./Fees.ts"
import type { Fees } from "./Fees.ts"
import { chargesOf, costOf, noopReserve, priceWithin, shortageOf } from "./Funds.ts"
import type { Shortage } from "./Funds.ts"
import { capsOf, limitOf, minimum } from "./Gas.ts"
import { floorOf } from "./Market.ts"
import type { Market } from "./Market.ts"
import { maxWaitForFunds } from "./Numbers.ts"
import { firstOffer } from "./Offer.ts"
import { firstOf, hold, holdUntil, pollNext } from "./Situation.ts"
import type { Row, Situation } from "./Situation.ts"
import { newestRequest } from "./Transaction.ts"
import type { Request } from "./Transaction.ts"
import type { Seen } from "./View.ts"

const signer: Row<Seen> = (situation) => {
  const { signerRetry } = situation.lane
  if (signerRetry === undefined) return undefined
  const { code, at } = signerRetry
  return holdUntil(situation, cause(code, { until: at }), "lane", at)
}

const windowFull: Row<Seen> = (situation) => {
  const { lane, others } = situation.lane
  if (others.inFlight < lane.windowSize) return undefined
  return hold(situation, cause("lane_window_full", { window: lane.windowSize, in_flight: others.inFlight }), "lane")
}

/** The limit that the request gives, else that of the estimate; without either what the call needs at least. */
const gasLimitOf = ({ transaction, lane, view }: Situation<Seen>): bigint => {
  const { gas_limit, to, data = "0x" } = newestRequest(transaction)
  if (gas_limit !== undefined) return gas_limit
  const { estimate } = view
  return estimate?._tag === "Gas"
    ? limitOf(estimate.gas, capsOf(view.head, lane.network))
    : minimum(to === undefined ? { data } : { to, data })
}

const chargedOf = (situation: Situation<Seen>) => chargesOf(gasLimitOf(situation), situation.view)

/** Wei per gas that policy and limits of the API key allow. Undefined: no limit. */
const capOf = (situation: Situation<Seen>): bigint | undefined => {
  const { cap, feeLimit } = situation.lane.terms
  if (feeLimit === undefined) return cap
  const limit = priceWithin(feeLimit, chargedOf(situation))
  return cap === undefined || limit < cap ? limit : cap
}

const priceAboveCap: Row<Seen> = (situation) => {
  const { market } = situation.view
  const cap = capOf(situation)
  if (market === undefined || cap === undefined || cap >= floorOf(market)) return undefined
  return hold(situation, cause("gas_price_above_cap", { base_fee: floorOf(market), cap }), "relayer")
}

/** Whether the call is estimated before it is signed. */
export const isEstimated = ({ simulate, gas_limit }: Request): boolean => simulate ?? gas_limit === undefined

const needsEstimate = ({ transaction }: Situation): boolean => isEstimated(newestRequest(transaction))

/** What a signature needs to know. */
interface Known {
  readonly fees: Fees
  readonly market: Market
  readonly balance: bigint
}

const knownOf = (situation: Situation<Seen>): Known | undefined => {
  const { transaction, lane, view } = situation
  const { market, balance } = view
  const offer = firstOffer(newestRequest(transaction), lane.terms, market)
  if (offer === undefined || market === undefined || balance === undefined) return undefined
  return { fees: atMost(offer, capOf(situation)), market, balance }
}

const unknown: Row<Seen> = (situation) => {
  const { estimate } = situation.view
  const isMissing = estimate === undefined ? needsEstimate(situation) : estimate._tag === "Unknown"
  if (knownOf(situation) === undefined) return hold(situation, cause("providers_unavailable"), "lane")
  // A node may be unable to estimate this call alone.
  return isMissing ? hold(situation, cause("providers_unavailable"), "relayer") : undefined
}

const shortage = (situation: Situation<Seen>): Shortage | undefined => {
  const { transaction, lane, view } = situation
  const known = knownOf(situation)
  if (known === undefined) return undefined
  const { value } = newestRequest(transaction)
  const required = costOf({ fees: known.fees, ...chargedOf(situation) }, value)
  return shortageOf(required, {
    balance: known.balance,
    reserved: lane.others.reserved,
    minBalance: lane.terms.minBalance,
    reserve: noopReserve(known.market, view)
  })
}

/** The wait for funds begins when nothing of the lane is in flight: until then the missing part may only be reserved. */
const fundsDeadline = ({ transaction, lane, now }: Situation): number | undefined => {
  const { quietSince } = lane.others
  if (newestRequest(transaction).wait_for_funds === true || quietSince === undefined) return undefined
  const since = transaction.cause?.code === "insufficient_funds" ? transaction.causeSince : now
  return Math.max(since, quietSince) + maxWaitForFunds
}

const short = (situation: Situation<Seen>, figures: Figures, isOfRelayer: boolean): Commands => {
  const until = fundsDeadline(situation)
  const why = cause("insufficient_funds", until === undefined ? figures : { ...figures, until })
  return until !== undefined && situation.now >= until
    ? [Command.Finish({ state: "failed", cause: why })]
    : hold(situation, why, isOfRelayer ? "relayer" : "lane")
}

const funds: Row<Seen> = (situation) => {
  const missing = shortage(situation)
  if (missing !== undefined) return short(situation, missing.figures, missing.isOfRelayer)
  return needsEstimate(situation) && situation.view.estimate?._tag === "Unaffordable"
    ? short(situation, {}, false)
    : undefined
}

/**
 * A call may only fail now because a predecessor is not mined yet: approve and transferFrom, sent one after the other. A
 * pending predecessor of its relayer cannot be there: `Queue.ts` decides about this one only after it.
 */
const reverts: Row<Seen> = (situation) => {
  const { view, lane } = situation
  const { estimate } = view
  if (!needsEstimate(situation) || estimate?._tag !== "Reverts") return undefined
  if (lane.others.inFlight > 0) return hold(situation, cause("waits_for_predecessors"), "relayer")
  if (estimate.second === "differs") return hold(situation, cause("providers_unavailable"), "relayer")
  const { reason } = estimate
  const why = cause("would_revert", reason === undefined ? {} : { revert_reason: reason })
  return [Command.Finish({ state: "failed", cause: why })]
}

const sign = (situation: Situation<Seen>): Commands => {
  const known = knownOf(situation)
  if (known === undefined) return hold(situation, cause("providers_unavailable"), "lane")
  const why = cause("sending", { price: maxFeeOf(known.fees), sends: 0 })
  const signature = Command.Sign({
    kind: "original",
    fees: known.fees,
    ...chargedOf(situation),
    cause: why
  })
  return [signature, pollNext(situation)]
}

export const decideFirstSignature = firstOf<Seen>([signer, windowFull, priceAboveCap, unknown, funds, reverts], sign)
