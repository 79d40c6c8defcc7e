// What a transaction offers per gas, and the most that it may ever offer.
import { atMost, highest, maxFeeOf, raised } from "./Fees.ts"
import type { Fees } from "./Fees.ts"
import type { Evm, EvmTerms, Request } from "./Evm.ts"
import { priceOf } from "./Market.ts"
import type { Market } from "./Market.ts"
import { ceilingWithoutCap, explicitCeiling, noopCapFactor, noopMarketFactor } from "./EvmNumbers.ts"
import type { PriceLimit } from "../Cause.ts"
import { isNoop } from "../Transaction.ts"
import type { Attempt } from "../Transaction.ts"
import { defaultSpeed } from "../TransactionValues.ts"
import type { Speed } from "../TransactionValues.ts"

export const speedOf = ({ speed = defaultSpeed }: Request): Speed => speed

/** The fees that the request gives. Undefined: its speed decides. */
export const givenFees = ({ gas_price, max_fee_per_gas, max_priority_fee_per_gas }: Request): Fees | undefined => {
  if (gas_price !== undefined) return { type: "legacy", gasPrice: gas_price }
  if (max_fee_per_gas === undefined || max_priority_fee_per_gas === undefined) return undefined
  return { type: "eip1559", maxFee: max_fee_per_gas, tip: max_priority_fee_per_gas }
}

export const priceType = ({ isEip1559 }: Pick<EvmTerms, "isEip1559">): Fees["type"] =>
  isEip1559 ? "eip1559" : "legacy"

/** The first offer of a request, within the cap. Undefined: the fees of the chain are not known. */
export const firstOffer = (request: Request, terms: EvmTerms, market: Market | undefined): Fees | undefined => {
  const given = givenFees(request)
  if (given !== undefined) return atMost(given, terms.cap)
  return market && atMost(priceOf(market, speedOf(request), priceType(terms)), terms.cap)
}

const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)
const smaller = (one: bigint, other: bigint): bigint => (one < other ? one : other)

/** The most that an attempt may offer, in wei per gas, and what decides it. */
export interface Ceiling {
  readonly price: bigint
  readonly limit: PriceLimit
}

/**
 * The most that attempts of the request may offer: the cap, else a multiple of the given price. Without either, the market
 * or a multiple of the first attempt's price, whichever is higher: blind raises end, but the market is always followed.
 */
export const requestCeiling = (request: Request, terms: EvmTerms, first: Fees, market: Fees | undefined): Ceiling => {
  if (terms.cap !== undefined) return { price: terms.cap, limit: "cap" }
  const given = givenFees(request)
  if (given !== undefined) return { price: explicitCeiling * maxFeeOf(given), limit: "given" }
  const price = larger(ceilingWithoutCap * maxFeeOf(first), market === undefined ? 0n : maxFeeOf(market))
  return { price, limit: "first_price" }
}

/** What replaces all of these attempts. 0: there is none. */
const replacing = (attempts: ReadonlyArray<Attempt<Evm>>): bigint => {
  const [one, ...others] = attempts.map(({ offer }) => offer.fees)
  return one === undefined ? 0n : maxFeeOf(raised(highest(one, ...others)))
}

const largest = (...amounts: ReadonlyArray<bigint>): bigint => amounts.reduce(larger, 0n)

/**
 * The most that a no-op may offer: the price that an operator has given, if any. Without a cap: ten times the first attempt, or twice the fast price of now, whichever is
 * higher, so that no price of the chain keeps the nonce open. With a cap: what the request was allowed to cost, spread over the
 * gas of a no-op, at most ten times the cap. Never below what replaces the attempts that execute the request, or a request of
 * 21,000 gas at the cap could not be cleared; while the base fee is within the cap, never below what replaces all attempts.
 */
export const noopCeiling = (
  attempts: ReadonlyArray<Attempt<Evm>>,
  { cap }: EvmTerms,
  noopGas: bigint,
  market: Market | undefined,
  clearPrice?: bigint
): Ceiling | undefined => {
  if (clearPrice !== undefined) return { price: clearPrice, limit: "operator" }
  const [first] = attempts
  const executing = attempts.filter((attempt) => !isNoop(attempt))
  if (cap === undefined) {
    if (first === undefined) return undefined
    const fast = market === undefined ? 0n : maxFeeOf(priceOf(market, "fast", first.offer.fees.type))
    const blind = ceilingWithoutCap * maxFeeOf(first.offer.fees)
    return { price: largest(blind, noopMarketFactor * fast, replacing(attempts)), limit: "first_price" }
  }
  const gas = executing.reduce((most, { offer }) => larger(most, offer.gasLimit), 0n)
  const allowed = executing.length === 0 ? noopCapFactor * cap : (cap * gas) / noopGas
  const isWithinCap = market === undefined || (market.baseFee ?? 0n) <= cap
  return {
    price: largest(smaller(allowed, noopCapFactor * cap), replacing(executing), isWithinCap ? replacing(attempts) : 0n),
    limit: "cap"
  }
}
