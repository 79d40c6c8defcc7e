// The state machine of evm transactions: what to do next about one transaction, from what the ledger knows and what one
// poll of the chain has seen. Pure and total; there is always at least one command.
import { because, cause } from "../../core/Cause.ts"
import type { Figures } from "../../core/Cause.ts"
import { present } from "../../core/Presentation.ts"
import * as Rows from "../../core/Rows.ts"
import { holdUntil } from "../../core/Rows.ts"
import { ask, Command, finish, firstOf, isUnsettled, sign as signed } from "../../core/Rules.ts"
import type { Commands, Row, Scope, Situation, Unreachable } from "../../core/Rules.ts"
import { isFinal, isNoop, newestRequest } from "../../core/Transaction.ts"
import { maxWaitForFunds } from "../../core/TransactionValues.ts"
import { isOwnCall } from "./Admission.ts"
import { endOfList, isListed, listStanding, waitOfList } from "./AuthorizationRules.ts"
import {
  chargesOf,
  costOf,
  estimateAboveLimit,
  estimatedLimitOf,
  firstOffer,
  gasCallOf,
  gasCapsOf,
  givenFees,
  isEstimated,
  maxFeesOf,
  minimumGas,
  noopReserve,
  priceWithin,
  shortageOf
} from "./Costs.ts"
import type { Shortage } from "./Costs.ts"
import { wireOf } from "./Batch.ts"
import { decideInFlight, decideMined } from "./DecideInFlight.ts"
import {
  awaitsQuiet,
  behindDelegation,
  decideSecond,
  isUnsignedSecond,
  secondOf,
  spentSecond,
  unfitBatch
} from "./Delegation.ts"
import { nonceOf, noncesOf, requiredNonceOf } from "./Evm.ts"
import type { Evm, Seen } from "./Evm.ts"
import { authorizationWait, estimateGrace, maxNonce, predecessorGrace, privateEstimateWait } from "./EvmNumbers.ts"
import { candidates, formerOf, hold, isDueUnseen, pollNext, rows } from "./InFlight.ts"
import { atMost, floorOf, marketFor, maxFeeOf, toCeiling, withSomeTip } from "./Market.ts"
import type { Fees, Market } from "./Market.ts"

// Decisions about a pending transaction that only the chain can still hold: by its window, price, funds or estimate.

/** The limit that the request gives, else that of the estimate; without either what the call needs at least. */
const gasLimitOf = ({ transaction, terms, view }: Situation<Evm, Seen>): bigint => {
  const request = newestRequest(transaction)
  if (request.gas_limit !== undefined) return request.gas_limit
  const { estimate } = view
  if (estimate?._tag === "Gas") return estimatedLimitOf(estimate.gas, gasCapsOf(view.head, terms.network))
  return minimumGas(gasCallOf(wireOf(request, terms.address)))
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

/** It would hold its nonce, and everything behind it, while nobody may get its bytes. Others pass it. */
const noPrivateProviders: Row<Evm, Seen> = (situation) =>
  situation.transaction.route?.kind === "private" && !situation.terms.hasPrivateProviders
    ? hold(situation, cause("no_private_rpc"))
    : undefined

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

const short = (situation: Situation<Evm, Seen>, figures: Figures, scope: Scope): Commands<Evm> =>
  rows.withoutFunds(situation, figures, { scope, waits: Rows.waitsForFunds(newestRequest(situation.transaction)) })

const funds: Row<Evm, Seen> = (situation) => {
  const missing = shortage(situation)
  if (missing !== undefined) return short(situation, missing.figures, missing.isOfRelayer ? "relayer" : "providers")
  return needsEstimate(situation) && situation.view.estimate?._tag === "Unaffordable"
    ? short(situation, {}, "providers")
    : undefined
}

/**
 * The chain goes on, and this call alone has no estimate: others pass it, and time ends it, whatever is in flight. `error`: what a
 * node says about it.
 */
const notEstimated = (situation: Situation<Evm, Seen>, error: string): Commands<Evm> => {
  const { transaction, now } = situation
  const isPrivate = transaction.route?.kind === "private"
  const since = transaction.cause?.code === "call_not_estimated" ? transaction.causeSince : now
  const until = since + (isPrivate ? privateEstimateWait : maxWaitForFunds)
  const why = cause("call_not_estimated", { error, until })
  if (now < until) return hold(situation, why)
  return [finish({ state: "failed", cause: isPrivate ? cause("private_estimate_unavailable", { error }) : why })]
}

/** No answer, or two different ones: the next block may bring an answer. */
const notEstimatedYet = (situation: Situation<Evm, Seen>, error: string): Commands<Evm> => {
  const { cause: before, causeSince } = situation.transaction
  // No normal provider knows whether a private one comes back, and none of the others waits for it.
  const isPrivate = situation.transaction.route?.kind === "private"
  if (before?.code === "call_not_estimated" || isPrivate) return notEstimated(situation, error)
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
  if (estimate._tag === "Unavailable") return [finish({ state: "failed", cause: cause("estimate_unavailable") })]
  if (estimate._tag !== "Reverts") return undefined
  if (rest.inFlight > 0) return hold(situation, cause("waits_for_predecessors"), "relayer")
  const { reason } = estimate
  if (estimate.second === "differs") {
    return notEstimatedYet(situation, `one provider says that it reverts${because(reason)}; another one does not`)
  }
  const why = cause("would_revert", reason === undefined ? {} : { revert_reason: reason })
  return [finish({ state: "failed", cause: why })]
}

/** It holds nothing back, whatever is in flight: a request with another limit can follow at once. */
const gasAboveLimit: Row<Evm, Seen> = ({ transaction, view }) => {
  const figures = estimateAboveLimit(newestRequest(transaction), view.estimate)
  return figures && [finish({ state: "failed", cause: cause("gas_limit_below_estimate", figures) })]
}

const sign = (situation: Situation<Evm, Seen>): Commands<Evm> => {
  const known = knownOf(situation)
  if (known === undefined) return hold(situation, cause("providers_unavailable"), "providers")
  const why = cause("sending", { price: maxFeeOf(known.fees), sends: 0 })
  const offer = { fees: known.fees, ...chargedOf(situation) }
  const next = secondOf(situation)
  const signature = signed<Evm>({
    kind: "original",
    offer,
    maxFee: maxFeesOf(offer),
    cause: why,
    ...present("next", next)
  })
  return [signature, pollNext(situation)]
}

/**
 * Nodes skip an entry that they cannot apply, and the call of a list that is skipped succeeds without an effect. Others pass it while it waits:
 * anybody can use an entry up, or keep its account busy.
 */
const authorizations: Row<Evm, Seen> = (situation) => {
  const { transaction, view, now } = situation
  if (!isListed(transaction)) return undefined
  const standing = listStanding(transaction, view)
  if (standing === undefined) return [ask<Evm>({ _tag: "Authorities" })]
  const end = endOfList(standing)
  if (end !== undefined) return [finish({ state: "failed", cause: end })]
  const waits = waitOfList(standing)
  if (waits?.code !== "authorization_ahead") return waits && hold(situation, waits)
  const since = transaction.cause?.code === waits.code ? transaction.causeSince : now
  const until = since + authorizationWait
  const why = { ...waits, figures: { ...waits.figures, until } }
  return now < until ? hold(situation, why) : [finish({ state: "failed", cause: why })]
}

/** A call is estimated, and its data priced, before anything else is asked of the chain. */
const inquiry: Row<Evm, Seen> = ({ transaction, view }) =>
  view.isInquired !== true && (isEstimated(newestRequest(transaction)) || view.chargesForData)
    ? [ask<Evm>({ _tag: "Estimate" })]
    : undefined

const decideFirstSignature = firstOf<Evm, Seen>(
  [
    // The first row that holds decides.
    spentSecond,
    gasAboveBlock,
    ownCall,
    noPrivateProviders,
    behindDelegation,
    awaitsQuiet,
    unfitBatch,
    rows.signer,
    rows.windowFull,
    behindRefused,
    givenBelowBaseFee,
    authorizations,
    inquiry,
    gasAboveLimit,
    priceAboveCap,
    unknown,
    funds,
    withoutGas
  ],
  sign
)

const nonceOutOfRange: Row<Evm> = (situation) =>
  noncesOf(situation.lane).nextNonce > maxNonce ? hold(situation, cause("nonce_out_of_range"), "lane") : undefined

/**
 * Scripts send transactions with required nonces at once and in any order, so one that is too early waits for others and a
 * little longer. This comes before the estimate, which would fail without the predecessors.
 */
const requiredNonce: Row<Evm> = (situation) => {
  const { transaction, lane, rest, now } = situation
  const { createdAt } = transaction
  const required = requiredNonceOf(transaction)
  const { nextNonce } = noncesOf(lane)
  if (required === undefined || required === nextNonce) return undefined
  const figures = { required_nonce: required, next_nonce: nextNonce }
  const until = Math.max(createdAt, rest.lastSignedAt ?? createdAt) + predecessorGrace
  if (required > nextNonce && (rest.isPendingBefore || now < until)) {
    const why = cause("waits_for_predecessors", figures)
    return now < until ? Rows.holdUntil(situation, why, "transaction", until) : hold(situation, why)
  }
  return [finish({ state: "failed", cause: cause("nonce_unavailable", figures) })]
}

/** The ledger may be a copy from before its execution, and a node that lags may not show it yet. */
const unsettled: Row<Evm> = (situation) => {
  const { transaction, unsettledBefore } = situation
  if (unsettledBefore === undefined || !isUnsettled(transaction, unsettledBefore)) return undefined
  return hold(situation, cause("nonce_unexplained", { until: unsettledBefore }))
}

const ofLedger: ReadonlyArray<Row<Evm>> = [
  rows.restored,
  rows.notWanted,
  rows.deadline,
  rows.policy,
  rows.stopped,
  unsettled,
  nonceOutOfRange,
  rows.paused,
  rows.notBefore,
  requiredNonce
]

/** What follows needs the chain: prices, the balance and an estimate. */
const chain = (situation: Situation<Evm>): Commands<Evm> => {
  const { view } = situation
  if (view._tag === "Seen") return decideFirstSignature({ ...situation, view })
  const { code, figures, retryAt } = view
  return Rows.holdUntil(situation, cause(code, { ...figures, until: retryAt }), "providers", retryAt)
}

const decidePending = firstOf<Evm, Situation<Evm>["view"]>(ofLedger, chain)

/** Bytes of an older generation belong to a chain that is gone. */
const isOfOlderGeneration = ({ transaction, lane }: Situation<Evm>): boolean => {
  const { attempts, generation, place } = transaction
  return place === undefined
    ? attempts.some((attempt) => attempt.generation !== lane.generation)
    : generation !== lane.generation
}

/**
 * A final transaction stays final. After a reorganisation deeper than what counts as final its nonce is open again, and
 * its bytes are sent again: they are all that can close it.
 */
const decideFinal = (situation: Situation<Evm>): Commands<Evm> => {
  const { transaction, view, lane } = situation
  const { mined, generation } = transaction
  const nonce = nonceOf(transaction)
  if (nonce === undefined || view._tag !== "Seen" || view.count > nonce) return [Command.Rest()]
  if (generation !== lane.generation) return [Command.Rest()]
  const newest = formerOf(transaction)?.newest
  const ordinal = mined?.ordinal ?? (newest !== undefined && isNoop(newest) ? newest.ordinal : undefined)
  return ordinal === undefined ? [Command.Rest()] : [Command.Broadcast({ ordinals: [ordinal] }), pollNext(situation)]
}

/** The bytes are sent all the same: the providers of other relayers may take them. */
const sentUnseen = (situation: Situation<Evm>, { code, figures, retryAt }: Unreachable): Commands<Evm> => {
  const { transaction } = situation
  const held = holdUntil(situation, cause(code, { ...figures, until: retryAt }), "transaction", retryAt)
  const former = transaction.mined === undefined ? formerOf(transaction) : undefined
  return former !== undefined && isDueUnseen(situation, former.newest)
    ? [Command.Broadcast({ ordinals: candidates(former.attempts, former.newest) }), ...held]
    : held
}

const decideWithNonce = (situation: Situation<Evm>): Commands<Evm> => {
  const { transaction, view } = situation
  if (Rows.isOnOtherChain(situation)) return hold(situation, cause("chain_changed"))
  if (view._tag === "Unreachable") return sentUnseen(situation, view)
  const seen = { ...situation, view }
  if (isUnsignedSecond(transaction)) return decideSecond(seen)
  return transaction.mined === undefined ? decideInFlight(seen) : decideMined(seen, transaction.mined)
}

const inItsMarket = (situation: Situation<Evm>): Situation<Evm> => {
  const { transaction, view, terms } = situation
  if (view._tag !== "Seen" || view.market === undefined) return situation
  const market = marketFor(view.market, terms)
  return {
    ...situation,
    view: { ...view, market: transaction.route?.kind === "private" ? withSomeTip(market) : market }
  }
}

export const decide = (given: Situation<Evm>): Commands<Evm> => {
  const situation = inItsMarket(given)
  const { transaction } = situation
  if (isFinal(transaction)) return decideFinal(situation)
  if (isOfOlderGeneration(situation)) return [finish({ state: "failed", cause: cause("chain_changed") })]
  return transaction.state === "pending" ? decidePending(situation) : decideWithNonce(situation)
}
