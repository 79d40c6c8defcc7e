// The fees of a chain now, from one `eth_feeHistory` per block, and what a transaction of some speed offers at them.
import { baseFeeFactor, gasPriceBound, legacyFactor, tipBound } from "./EvmNumbers.ts"
import { maxFeeOf, scaleUp, tipOf } from "./Fees.ts"
import type { Fees } from "./Fees.ts"
import type { OperatorFee } from "./OperatorFee.ts"
import { Speed } from "../Speed.ts"

/** Percentiles of the tips in a block that `eth_feeHistory` is asked for, in the order of `Speed`. */
export const percentiles = { safeLow: 30, average: 50, fast: 85, fastest: 99 } as const satisfies Record<Speed, number>

/** An answer to `eth_feeHistory(feeHistoryBlocks, "latest", percentiles)`. Wei per gas. */
export interface FeeHistory {
  /** One more than there are blocks: the last one is the next block's. Zero or missing on chains without EIP-1559. */
  readonly baseFees: ReadonlyArray<bigint>
  /** Per block, the tip at each percentile. */
  readonly rewards: ReadonlyArray<ReadonlyArray<bigint>>
}

/** Wei per gas, except for `operatorFee`. */
export interface Market {
  /** The base fee of the next block. Absent if the chain has none. */
  readonly baseFee?: bigint
  readonly tips: Readonly<Record<Speed, bigint>>
  /** `eth_gasPrice`. */
  readonly gasPrice?: bigint
  /** The only provider has shown `gasPrice` in one block alone, and there is no earlier price to compare it with. */
  readonly isFirstPrice?: true
  /** Absent: the chain charges none, or it is not known. */
  readonly operatorFee?: OperatorFee
}

/** Each amount by itself. */
const mapTips = (tips: Market["tips"], change: (tip: bigint, speed: Speed) => bigint): Market["tips"] => ({
  safeLow: change(tips.safeLow, "safeLow"),
  average: change(tips.average, "average"),
  fast: change(tips.fast, "fast"),
  fastest: change(tips.fastest, "fastest")
})

const smaller = (one: bigint, other: bigint): bigint => (one < other ? one : other)

/**
 * What two providers say about the same block: of each tip, and of the gas price of a legacy chain, the lower one counts. A base
 * fee that is a lie costs nothing, because the real one is paid.
 */
export const lowerOf = (one: Market, other: Market): Market => ({
  ...one,
  tips: mapTips(one.tips, (tip, speed) => smaller(tip, other.tips[speed])),
  ...(one.gasPrice === undefined || other.gasPrice === undefined
    ? {}
    : { gasPrice: smaller(one.gasPrice, other.gasPrice) })
})

/** The highest tip that is offered, in wei per gas. `tipCap`: what the network sets. */
export const tipLimitOf = ({ baseFee = 0n }: Market, tipCap: bigint | undefined): bigint => {
  if (tipCap !== undefined) return tipCap
  const scaled = tipBound.baseFees * baseFee
  return scaled > tipBound.least ? scaled : tipBound.least
}

/** Providers decide about tips only up to a limit. */
const withTipLimit = (market: Market, limit: bigint): Market => ({
  ...market,
  tips: mapTips(market.tips, (tip) => smaller(tip, limit))
})

/** What limits the tip. Wei per gas. */
interface TipTerms {
  /** The cap of the relayer's policy. */
  readonly cap?: bigint
  readonly network: { readonly tipCap?: bigint }
}

/**
 * The market that a relayer offers in. Without a cap of its policy, no provider decides about money: the tip has a limit. The limit of
 * a network holds for every relayer.
 */
export const marketFor = (market: Market, { cap, network: { tipCap } }: TipTerms): Market =>
  cap !== undefined && tipCap === undefined ? market : withTipLimit(market, tipLimitOf(market, tipCap))

/**
 * The highest gas price that is accepted on a legacy chain: `factor` times the highest of the earlier prices. If only one provider is asked
 * (`isAlone`) and fewer than `gasPriceBound.readings` prices are known, it is `factor` times the first one: otherwise that provider could
 * raise the price fourfold with each block. Undefined: no earlier price is known.
 */
export const gasPriceLimitOf = (readings: ReadonlyArray<bigint>, isAlone: boolean): bigint | undefined => {
  const [first] = readings
  if (first === undefined) return undefined
  const isMeasuredByFirst = isAlone && readings.length < gasPriceBound.readings
  return (
    gasPriceBound.factor * (isMeasuredByFirst ? first : readings.reduce((one, other) => (one > other ? one : other)))
  )
}

/** What is asked besides the history, and what the network demands. Wei per gas. */
export interface Sources {
  /** `eth_maxPriorityFeePerGas`: used if no block has a tip. */
  readonly suggestedTip?: bigint
  readonly gasPrice?: bigint
  /** Some networks refuse lower tips (Polygon: 25 to 30 gwei). */
  readonly minimumTip: bigint
}

const order = (one: bigint, other: bigint): number => (one < other ? -1 : Number(one > other))

/** The median. If the number of values is even, the lower middle one, because somebody paid exactly that. */
const median = (values: ReadonlyArray<bigint>): bigint | undefined =>
  [...values].sort(order)[Math.floor((values.length - 1) / 2)]

/** The median of the tips that are not zero: empty blocks have none, and say nothing about the price. */
const tipAt = (history: FeeHistory, column: number, { suggestedTip = 0n, minimumTip }: Sources): bigint => {
  const paid = history.rewards.map((row) => row[column] ?? 0n).filter((tip) => tip > 0n)
  const tip = median(paid) ?? suggestedTip
  return tip > minimumTip ? tip : minimumTip
}

export const marketOf = (history: FeeHistory, sources: Sources): Market => {
  const baseFee = history.baseFees.at(-1)
  const tip = (speed: Speed) => tipAt(history, Speed.literals.indexOf(speed), sources)
  return {
    ...(baseFee === undefined || baseFee === 0n ? {} : { baseFee }),
    tips: { safeLow: tip("safeLow"), average: tip("average"), fast: tip("fast"), fastest: tip("fastest") },
    ...(sources.gasPrice === undefined ? {} : { gasPrice: sources.gasPrice })
  }
}

/** The least price at which the next block takes a transaction: a cap below it cannot be met. */
export const floorOf = (market: Market): bigint => market.baseFee ?? market.gasPrice ?? 0n

const legacyPrice = (market: Market, speed: Speed): bigint => {
  const { baseFee = 0n, tips } = market
  return scaleUp(market.gasPrice ?? baseFee + tips.safeLow, legacyFactor[speed])
}

/** What a transaction of `speed` offers at this market. Without a base fee there is no EIP-1559: the price is legacy. */
export const priceOf = (market: Market, speed: Speed, type: Fees["type"]): Fees => {
  if (type === "legacy" || market.baseFee === undefined) return { type: "legacy", gasPrice: legacyPrice(market, speed) }
  const tip = market.tips[speed]
  const factor = speed === "safeLow" ? baseFeeFactor.oneAndAHalf : baseFeeFactor.double
  return { type: "eip1559", tip, maxFee: tip + scaleUp(market.baseFee, factor) }
}

/** Whether a transaction of `speed` would pay more today than `fees` can: a reason to raise them. */
export const isAbove = (market: Market, speed: Speed, fees: Fees): boolean => {
  if (market.baseFee === undefined) return legacyPrice(market, speed) > maxFeeOf(fees)
  return market.baseFee + market.tips[speed] > maxFeeOf(fees) || market.tips[speed] > tipOf(fees)
}
