// The fees of a chain now, from one `eth_feeHistory` per block, and what a transaction of some speed offers at them.
import {
  aboveLowest,
  baseFeeFactor,
  fullBlock,
  gasPriceBound,
  leastTip,
  legacyFactor,
  patienceBlocks,
  quietBlocks,
  tipBound,
  usualLeastTip
} from "./EvmNumbers.ts"
import { maxFeeOf, scaleUp, tipOf } from "./Fees.ts"
import type { Fees } from "./Fees.ts"
import type { OperatorFee } from "./OperatorFee.ts"
import { Speed } from "../TransactionValues.ts"

/**
 * Percentiles that show the lowest tip of a block: the first that is not zero. Some transactions pay the maker of a block in another
 * way than by a tip, and come first.
 */
const lowestPercentiles = [1, 5, 10, 20] as const

/** Percentiles of the tips of a full block, by speed. */
const speedPercentiles = { safeLow: 30, average: 50, fast: 85, fastest: 99 } as const satisfies Record<Speed, number>

/** Percentiles of the tips in a block that `eth_feeHistory` is asked for, in rising order. */
export const percentiles: ReadonlyArray<number> = [...lowestPercentiles, ...Object.values(speedPercentiles)]

/** An answer to `eth_feeHistory(feeHistoryBlocks, "latest", percentiles)`. Wei per gas. */
export interface FeeHistory {
  /**
   * If there is one more than there are elements of `gasUsed`, the last one is the next block's. coreth and subnet-evm do not have it.
   * Zero or missing on chains without EIP-1559.
   */
  readonly baseFees: ReadonlyArray<bigint>
  /** Per block, the tip at each percentile. */
  readonly rewards: ReadonlyArray<ReadonlyArray<bigint>>
  /** Per block, the share of its gas limit that was used, from 0 to 1. Missing: not known, and the block counts as full. */
  readonly gasUsed?: ReadonlyArray<number>
  /** Per block, the share of its gas limit that transactions of this service used. */
  readonly ownGas?: ReadonlyArray<number>
}

/** Wei per gas, except for `operatorFee`. */
export interface Market {
  /** The base fee of the next block. Absent if the chain has none. */
  readonly baseFee?: bigint
  readonly tips: Readonly<Record<Speed, bigint>>
  /** The newest blocks in a row that had room for more transactions. In such a block every tip is enough that its maker takes at all. */
  readonly roomyBlocks?: number
  /** Tips that were enough: the lowest of each block that has one, and the one that the node suggests if few blocks have one. */
  readonly enough?: ReadonlyArray<bigint>
  /** The base fee of the next block is not part of the history: it changes although no block comes. */
  readonly isMoving?: true
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
const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)

const largest = (amounts: ReadonlyArray<bigint> = []): bigint => amounts.reduce(larger, 0n)

const roomOf = (roomyBlocks: number) => (roomyBlocks === 0 ? {} : { roomyBlocks })
const enoughOf = (enough: ReadonlyArray<bigint> = []) => (enough.length === 0 ? {} : { enough })

/**
 * What two providers say about the same block: of each tip, and of the gas price of a legacy chain, the lower one counts. A base
 * fee that is a lie costs nothing, because the real one is paid.
 */
export const lowerOf = (one: Market, other: Market): Market => ({
  ...one,
  tips: mapTips(one.tips, (tip, speed) => smaller(tip, other.tips[speed])),
  ...roomOf(Math.min(one.roomyBlocks ?? 0, other.roomyBlocks ?? 0)),
  ...enoughOf(largest(one.enough) < largest(other.enough) ? one.enough : other.enough),
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
  /** `eth_maxPriorityFeePerGas`: needed if few blocks have a tip, or the history has no base fee of the next block. */
  readonly suggestedTip?: bigint
  /** `eth_gasPrice`: needed if the history has no base fee of the next block. */
  readonly gasPrice?: bigint
  /** Some networks refuse lower tips (Polygon: 25 to 30 gwei). */
  readonly minimumTip: bigint
}

const order = (one: bigint, other: bigint): number => (one < other ? -1 : Number(one > other))

/** The median. If the number of values is even, the lower middle one, because somebody paid exactly that. */
const median = (values: ReadonlyArray<bigint>): bigint | undefined =>
  [...values].sort(order)[Math.floor((values.length - 1) / 2)]

/** The lowest tip of a block. Zero: nobody paid a tip. */
const lowestOf = (row: ReadonlyArray<bigint>): bigint => row.find((tip) => tip > 0n) ?? 0n

/** The lowest tip of each block that has one. */
const lowestTips = ({ rewards }: FeeHistory): ReadonlyArray<bigint> => rewards.map(lowestOf).filter((tip) => tip > 0n)

/** Whether the history has base fees, but not the one of the next block. */
export const lacksNextBaseFee = ({ baseFees, gasUsed = [] }: FeeHistory): boolean =>
  gasUsed.length > 0 && baseFees.length <= gasUsed.length && (baseFees.at(-1) ?? 0n) > 0n

/** So few blocks have a tip that one sender may have paid all of them. */
export const isQuiet = (history: FeeHistory): boolean => lowestTips(history).length < quietBlocks

/**
 * Own transactions wait for each other, whatever they pay, and what they pay is no evidence: a block of which they used the larger part
 * counts as one with room.
 */
const hadRoom = ({ gasUsed = [], ownGas = [] }: FeeHistory, block: number): boolean => {
  const used = gasUsed[block]
  return used !== undefined && (used < fullBlock || 2 * (ownGas[block] ?? 0) > used)
}

/**
 * The tip with which a block would have taken one more transaction. What others paid for a block with room says nothing about it. In a
 * full block it is the percentile of the speed, but not far above the lowest tip, with which somebody else was mined.
 */
const priceIn = (history: FeeHistory, block: number, speed: Speed): bigint => {
  const row = history.rewards[block] ?? []
  if (hadRoom(history, block)) return 0n
  const paid = row[lowestPercentiles.length + Speed.literals.indexOf(speed)] ?? 0n
  return smaller(paid, scaleUp(lowestOf(row), aboveLowest[speed]))
}

/**
 * The least tip in blocks with room: what makers of blocks usually take, or less if nodes or former transactions show that less is
 * enough. More than that is only known to be needed after blocks passed it over (`abovePassedOver`).
 */
const leastOf = (history: FeeHistory, { suggestedTip = usualLeastTip, minimumTip }: Sources): bigint => {
  const usual = lacksNextBaseFee(history) ? leastTip : usualLeastTip
  const taken = median(lowestTips(history)) ?? usual
  return largest([smaller(usual, smaller(suggestedTip, taken)), leastTip, minimumTip])
}

/** What the cheapest of the last blocks asked for: as many blocks as a transaction of this speed may wait. */
const tipOfSpeed = (history: FeeHistory, speed: Speed): bigint => {
  const blocks = [...history.rewards.keys()].slice(-patienceBlocks[speed])
  return blocks
    .map((block) => priceIn(history, block, speed))
    .reduce(smaller, priceIn(history, blocks.at(-1) ?? 0, speed))
}

/** Wei per gas. Undefined: the chain has no base fees. */
const nextBaseFee = (history: FeeHistory, { gasPrice, suggestedTip = 0n }: Sources): bigint | undefined => {
  const newest = history.baseFees.at(-1)
  if (newest === undefined || newest === 0n) return undefined
  if (gasPrice === undefined || !lacksNextBaseFee(history)) return newest
  return larger(gasPrice - suggestedTip, 1n)
}

export const marketOf = (history: FeeHistory, sources: Sources): Market => {
  const baseFee = nextBaseFee(history, sources)
  const least = leastOf(history, sources)
  const tip = (speed: Speed) => larger(tipOfSpeed(history, speed), least)
  const isMoving = lacksNextBaseFee(history)
  const lastFull = [...history.rewards.keys()].findLastIndex((block) => !hadRoom(history, block))
  return {
    ...(baseFee === undefined ? {} : { baseFee }),
    tips: { safeLow: tip("safeLow"), average: tip("average"), fast: tip("fast"), fastest: tip("fastest") },
    ...roomOf(history.rewards.length - 1 - lastFull),
    ...enoughOf([...lowestTips(history), ...(sources.suggestedTip === undefined ? [] : [sources.suggestedTip])]),
    ...(isMoving ? { isMoving } : {}),
    ...(sources.gasPrice === undefined || isMoving ? {} : { gasPrice: sources.gasPrice })
  }
}

/**
 * The market after blocks with room did not take a transaction with this tip, or a node refused it: tips that are not higher become the
 * lowest higher one that was enough. Undefined: no tip was passed over.
 */
export const abovePassedOver = (market: Market, passedOver: bigint | undefined): Market => {
  if (passedOver === undefined) return market
  const [next] = (market.enough ?? []).filter((tip) => tip > passedOver).sort(order)
  return next === undefined
    ? market
    : { ...market, tips: mapTips(market.tips, (tip) => (tip > passedOver ? tip : next)) }
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
