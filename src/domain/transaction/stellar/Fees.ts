// Fees of envelopes, in stroops.
import type { Ratio } from "../TransactionValues.ts"
import { baseFee, bidWithoutStats, maxInnerFee, raisedBid, resourceMargin } from "./StellarNumbers.ts"

const max = (first: bigint, ...others: ReadonlyArray<bigint>): bigint =>
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
  stats === undefined ? bidWithoutStats * least : max(least, stats.p95)

/** The rate after a death or a refusal. `needed`: the rate that a node asked for. */
export const nextRate = (stats: FeeStats | undefined, needed = 0n, least = baseFee): bigint =>
  stats === undefined ? max(firstRate(stats, least), needed) : max(least, timesUp(stats.p99, raisedBid), needed)

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
  return max(rate, innerRate, least) * (count + 1n) + resourceFee
}

/** The fee of the resources that is declared, from the one that a simulation returned. */
export const declaredResourceFee = (simulated: bigint): bigint => timesUp(simulated, resourceMargin)

/** The lower one of both limits, or the default of the wire format. */
export const capOf = (given: bigint | undefined, policy: bigint | undefined, fallback: bigint): bigint => {
  if (given === undefined) return policy ?? fallback
  return policy === undefined || given < policy ? given : policy
}

/** Whether a fee of resources is higher than a simulation justifies: its larger part is not returned. */
export const isResourceFeeTooHigh = (declared: bigint, simulated: bigint, { numerator, denominator }: Ratio): boolean =>
  declared * denominator > simulated * numerator
