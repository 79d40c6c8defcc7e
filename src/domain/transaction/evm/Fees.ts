// What a transaction offers per gas, in wei, and how one offer replaces another.
import { bump, minimumBump } from "./EvmNumbers.ts"
import type { Ratio } from "../TransactionValues.ts"

interface LegacyFees {
  readonly type: "legacy"
  readonly gasPrice: bigint
}

interface DynamicFees {
  readonly type: "eip1559"
  readonly maxFee: bigint
  /** At most `maxFee`. */
  readonly tip: bigint
}

export type Fees = LegacyFees | DynamicFees

/** A legacy price counts as both fees: that is how pools compare it with EIP-1559 fees. */
interface Pair {
  readonly maxFee: bigint
  readonly tip: bigint
}

const pairOf = (fees: Fees): Pair =>
  fees.type === "legacy" ? { maxFee: fees.gasPrice, tip: fees.gasPrice } : { maxFee: fees.maxFee, tip: fees.tip }

const ofPair = (type: Fees["type"], { maxFee, tip }: Pair): Fees =>
  type === "legacy" ? { type, gasPrice: maxFee } : { type, maxFee, tip: tip < maxFee ? tip : maxFee }

/** Wei per gas that a transaction can cost at most. */
export const maxFeeOf = (fees: Fees): bigint => pairOf(fees).maxFee

/** Wei per gas that the block's producer gets at most. */
export const tipOf = (fees: Fees): bigint => pairOf(fees).tip

const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** `amount × ratio`, rounded up. */
export const scaleUp = (amount: bigint, { numerator, denominator }: Ratio): bigint =>
  (amount * numerator + denominator - 1n) / denominator

/** `amount × ratio`, rounded down. */
const scaleDown = (amount: bigint, { numerator, denominator }: Ratio): bigint => (amount * numerator) / denominator

/** The larger of each fee, in the form of `type`. */
const join = (type: Fees["type"], one: Pair, other: Pair): Fees =>
  ofPair(type, { maxFee: larger(one.maxFee, other.maxFee), tip: larger(one.tip, other.tip) })

/** The highest fees among attempts at one nonce, each fee by itself, in the form of the newest. */
export const highest = (first: Fees, ...others: ReadonlyArray<Fees>): Fees =>
  others.reduce((high, fees) => join(fees.type, pairOf(high), pairOf(fees)), first)

/** Strictly above `fee`, also if it is so small that the factor rounds to nothing. */
const raise = (fee: bigint): bigint => larger(scaleUp(fee, bump), fee + 1n)

/** The least fees that replace `former` in every pool: both fees by the factor of a bump. */
export const raised = (former: Fees): Fees => {
  const { maxFee, tip } = pairOf(former)
  return ofPair(former.type, { maxFee: raise(maxFee), tip: raise(tip) })
}

/** The least price that a caller may give to replace `price`: strictly more than 10 % above it. */
export const leastAbove = (price: bigint): bigint => scaleDown(price, minimumBump) + 1n

/** The least fees that a caller may give to replace `former`: both of its fees by this rule. */
export const minimumReplacement = (former: Fees): Fees => {
  const { maxFee, tip } = pairOf(former)
  return ofPair(former.type, { maxFee: leastAbove(maxFee), tip: leastAbove(tip) })
}

/** Whether `fees` replace `former` by the rule for given fees. */
export const isReplacement = (fees: Fees, former: Fees): boolean => {
  const minimum = minimumReplacement(former)
  return maxFeeOf(fees) >= maxFeeOf(minimum) && tipOf(fees) >= tipOf(minimum)
}

/** `wanted`, but each fee at least that of `least`. */
export const atLeast = (wanted: Fees, least: Fees): Fees => join(wanted.type, pairOf(wanted), pairOf(least))

/**
 * The ceiling instead of `fees`, if less than one replacement would remain between them: no later offer could follow the market
 * to the ceiling.
 */
export const toCeiling = (fees: Fees, ceiling: bigint | undefined): Fees => {
  const { maxFee, tip } = pairOf(fees)
  return ceiling === undefined || maxFee >= ceiling || raise(maxFee) <= ceiling
    ? fees
    : ofPair(fees.type, { maxFee: ceiling, tip })
}

/** `fees` with a price of at most `ceiling`. */
export const atMost = (fees: Fees, ceiling: bigint | undefined): Fees => {
  const { maxFee, tip } = pairOf(fees)
  return ceiling === undefined || maxFee <= ceiling ? fees : ofPair(fees.type, { maxFee: ceiling, tip })
}
