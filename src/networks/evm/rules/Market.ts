// Prices in wei: what transactions offer per gas, what the chain asks now, and what the operator of a rollup charges besides.
// The market is read from one `eth_feeHistory` per block.
import { Speed } from "../../core/TransactionValues.ts"
import type { Ratio } from "../../core/TransactionValues.ts"
import {
  aboveLowest,
  baseFeeFactor,
  bump,
  fullBlock,
  gasPriceBound,
  leastTip,
  legacyFactor,
  minimumBump,
  patienceBlocks,
  quietBlocks,
  tipBound,
  usualLeastTip
} from "./EvmNumbers.ts"

// What a transaction offers per gas, in wei, and how one offer replaces another.

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

const largerFee = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** `amount × ratio`, rounded up. */
export const scaleUp = (amount: bigint, { numerator, denominator }: Ratio): bigint =>
  (amount * numerator + denominator - 1n) / denominator

/** `amount × ratio`, rounded down. */
const scaleDown = (amount: bigint, { numerator, denominator }: Ratio): bigint => (amount * numerator) / denominator

/** The larger of each fee, in the form of `type`. */
const join = (type: Fees["type"], one: Pair, other: Pair): Fees =>
  ofPair(type, { maxFee: largerFee(one.maxFee, other.maxFee), tip: largerFee(one.tip, other.tip) })

/** The highest fees among attempts at one nonce, each fee by itself, in the form of the newest. */
export const highest = (first: Fees, ...others: ReadonlyArray<Fees>): Fees =>
  others.reduce((high, fees) => join(fees.type, pairOf(high), pairOf(fees)), first)

/** Strictly above `fee`, also if it is so small that the factor rounds to nothing. */
const raise = (fee: bigint): bigint => largerFee(scaleUp(fee, bump), fee + 1n)

/** The least fees that replace `former` in every pool: both fees by the factor of a bump. */
export const raisedFees = (former: Fees): Fees => {
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

/** The same fees in the form of the type. */
export const asType = (fees: Fees, type: Fees["type"]): Fees => (fees.type === type ? fees : ofPair(type, pairOf(fees)))

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

// What the operator of an OP-stack chain charges besides gas and data since the upgrade Isthmus: a constant, and a share per gas.
// The formulas are in specs.optimism.io (Isthmus and Jovian, "Operator Fee"): `gas × scalar / 10^6 + constant` since Isthmus,
// `gas × scalar × 100 + constant` since Jovian. A signed transaction has to be able to pay it for its gas limit; a mined one has
// paid it for the gas that it used.

/** Wei. */
export interface OperatorFee {
  readonly constant: bigint
  readonly perMillionGas: bigint
}

/** Gas to which `perMillionGas` applies. */
export const millionGas = 1_000_000n

/** The range of `operatorFeeConstant`, a uint64, and of `operatorFeeScalar`, a uint32. */
const maxConstant = 2n ** 64n - 1n
const maxScalar = 2n ** 32n - 1n

/** Jovian multiplies the scalar by 100 instead of dividing it by a million. */
const jovianFactor = 100n * millionGas

/** Wei for an amount of gas. */
export const operatorFeeAt = ({ constant, perMillionGas }: OperatorFee, gas: bigint): bigint =>
  constant + (gas * perMillionGas) / millionGas

/** From the chain's answers for no gas and for a million gas. Undefined: no chain charges this, so the answers are wrong. */
export const operatorFeeFromSamples = (forNone: bigint, forMillion: bigint): OperatorFee | undefined => {
  const perMillionGas = forMillion - forNone
  const isPossible = forNone <= maxConstant && perMillionGas >= 0n && perMillionGas <= maxScalar * jovianFactor
  return isPossible ? { constant: forNone, perMillionGas } : undefined
}

/** The parameters of a block, as its receipts show them. */
export interface OperatorFeeParameters {
  readonly scalar: bigint
  readonly constant: bigint
  readonly isJovian: boolean
}

/** Undefined: no chain has such parameters. */
export const operatorFeeFromParameters = ({
  scalar,
  constant,
  isJovian
}: OperatorFeeParameters): OperatorFee | undefined =>
  scalar <= maxScalar && constant <= maxConstant
    ? { constant, perMillionGas: isJovian ? scalar * jovianFactor : scalar }
    : undefined

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

/** At least a wei of each tip: private providers include nothing without one. */
export const withSomeTip = (market: Market): Market => ({
  ...market,
  tips: mapTips(market.tips, (tip) => larger(tip, 1n))
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

const byAmount = (one: bigint, other: bigint): number => (one < other ? -1 : Number(one > other))

/** The median. If the number of values is even, the lower middle one, because somebody paid exactly that. */
const median = (values: ReadonlyArray<bigint>): bigint | undefined =>
  [...values].sort(byAmount)[Math.floor((values.length - 1) / 2)]

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
  const [next] = (market.enough ?? []).filter((tip) => tip > passedOver).sort(byAmount)
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
