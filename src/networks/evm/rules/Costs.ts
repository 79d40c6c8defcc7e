// What a transaction can cost: its gas, what it offers per gas, and whether the balance covers both. Amounts in wei.
import type { Figures, PriceLimit } from "../../core/Cause.ts"
import { reservationOf } from "../../core/Queue.ts"
import { isNoop } from "../../core/Transaction.ts"
import type { Attempt, Receipt, Transaction } from "../../core/Transaction.ts"
import { defaultSpeed } from "../../core/TransactionValues.ts"
import type { Speed } from "../../core/TransactionValues.ts"
import { entryGas } from "./Authorizations.ts"
import type { Estimate, Evm, EvmTerms, Priced, ReceiptDetails, Request, Seen } from "./Evm.ts"
import {
  calldataGas,
  ceilingWithoutCap,
  creationGas,
  estimateMargin,
  explicitCeiling,
  floor,
  initCode,
  noopCapFactor,
  noopMarketFactor,
  noopsInReserve,
  transactionGas
} from "./EvmNumbers.ts"
import { atMost, highest, maxFeeOf, operatorFeeAt, priceOf, raisedFees, scaleUp, tipOf } from "./Market.ts"
import type { Fees, Market } from "./Market.ts"

/** The field `rollupFee`, which is absent if nothing is charged. */
export const withRollupFee = (rollupFee: bigint | undefined): Pick<Priced, "rollupFee"> =>
  rollupFee === undefined ? {} : { rollupFee }

/** What is charged for a transaction at some price per gas: its gas and, on a rollup, its data and the operator. */
export const chargesOf = (
  gasLimit: bigint,
  { market, dataFee }: Pick<Seen, "market" | "dataFee">
): Omit<Priced, "fees"> => {
  const operatorFee = market?.operatorFee && operatorFeeAt(market.operatorFee, gasLimit)
  if (dataFee === undefined && operatorFee === undefined) return { gasLimit }
  return { gasLimit, rollupFee: (dataFee ?? 0n) + (operatorFee ?? 0n) }
}

/** The most that its fees can cost, in wei. */
export const maxFeesOf = ({ fees, gasLimit, rollupFee = 0n }: Priced): bigint => gasLimit * maxFeeOf(fees) + rollupFee

/** The most that it can cost, in wei. */
export const costOf = (priced: Priced, value: bigint): bigint => maxFeesOf(priced) + value

/** Wei per gas that `limit` leaves for all its fees. */
export const priceWithin = (limit: bigint, { gasLimit, rollupFee = 0n }: Omit<Priced, "fees">): bigint =>
  limit > rollupFee ? (limit - rollupFee) / gasLimit : 0n

/** What a transaction in flight reserves, in wei. */
export const evmReservationOf = (transaction: Transaction<Evm>): bigint =>
  reservationOf<Evm>({ costOf: (request, offer) => costOf(offer, request?.value ?? 0n) }, transaction)

/** Wei that a rollup charged besides gas. Undefined: the receipt names nothing. */
export const chargedByRollup = ({ dataFee, operatorFee }: ReceiptDetails): bigint | undefined =>
  dataFee === undefined && operatorFee === undefined ? undefined : (dataFee ?? 0n) + (operatorFee ?? 0n)

/** Wei that the sender paid: for gas, and what a rollup charged besides it. */
export const paidOf = (details: ReceiptDetails): bigint =>
  details.gasUsed * details.effectiveGasPrice + (chargedByRollup(details) ?? 0n)

/**
 * What counts as paid. A node that does not say what was paid, or says what cannot be: the attempt paid at most what it offered. Every
 * transaction costs at least `transactionGas`, and its price contains the whole tip unless its fee has no room for it.
 */
export const withPayment = ({ offer }: Attempt<Evm>, receipt: Receipt<Evm>): Receipt<Evm> => {
  const { details } = receipt
  const { effectiveGasPrice, gasUsed } = details
  const most = maxFeeOf(offer.fees)
  const isPrice = effectiveGasPrice > 0n && effectiveGasPrice >= tipOf(offer.fees) && effectiveGasPrice <= most
  const isGas = gasUsed >= transactionGas && gasUsed <= offer.gasLimit
  if (isPrice && isGas) return receipt
  const counted = {
    ...details,
    gasUsed: isGas ? gasUsed : offer.gasLimit,
    effectiveGasPrice: isPrice ? effectiveGasPrice : most
  }
  return { ...receipt, paid: paidOf(counted) }
}

/** The fields that determine the cost of a no-op: gas, and data. */
export type NoopCost = Pick<Seen, "noopGas" | "noopDataFee">

export const noopChargesOf = ({ noopGas, noopDataFee }: NoopCost, market: Market | undefined): Omit<Priced, "fees"> =>
  chargesOf(noopGas, {
    ...(market === undefined ? {} : { market }),
    ...(noopDataFee === undefined ? {} : { dataFee: noopDataFee })
  })

/** What an account keeps back so that its lane can always be cleared: two no-ops at the current fast price. */
export const noopReserve = (market: Market, cost: NoopCost): bigint =>
  noopsInReserve * maxFeesOf({ fees: priceOf(market, "fast", "eip1559"), ...noopChargesOf(cost, market) })

export interface Budget {
  readonly balance: bigint
  /** By the other transactions in flight. */
  readonly reserved: bigint
  /** What the relayer's policy wants to stay on the account. */
  readonly minBalance: bigint
  /** What the lane keeps back for no-ops. */
  readonly reserve: bigint
}

export interface Shortage {
  /**
   * Whether other relayers of the lane can go on: only the relayer's own minimum is missing, or the whole balance, without any
   * reservation, cannot pay this transaction.
   */
  readonly isOfRelayer: boolean
  readonly figures: Figures
}

/** What the reservations leave of a balance. */
export const availableOf = (balance: bigint, reserved: bigint): bigint => (balance > reserved ? balance - reserved : 0n)

/** Undefined: the balance covers it. */
export const shortageOf = (required: bigint, budget: Budget): Shortage | undefined => {
  const { balance, reserved, minBalance, reserve } = budget
  const left = balance - reserved - required
  const minimum = minBalance > reserve ? minBalance : reserve
  if (left >= minimum) return undefined
  return {
    isOfRelayer: left >= reserve || balance - required < reserve,
    figures: { required, available: availableOf(balance, reserved), reserved, minimum }
  }
}

// What a transaction offers per gas, and the most that it may ever offer.

export const speedOf = ({ speed = defaultSpeed }: Request): Speed => speed

/** The fees that the request gives. Undefined: its speed decides. */
export const givenFees = ({ gas_price, max_fee_per_gas, max_priority_fee_per_gas }: Request): Fees | undefined => {
  if (gas_price !== undefined) return { type: "legacy", gasPrice: gas_price }
  if (max_fee_per_gas === undefined || max_priority_fee_per_gas === undefined) return undefined
  return { type: "eip1559", maxFee: max_fee_per_gas, tip: max_priority_fee_per_gas }
}

/** A transaction with authorizations, also one of its own account, has no gas price, whatever the policy says. */
export const priceType = (
  { isEip1559 }: Pick<EvmTerms, "isEip1559">,
  { authorization_list, delegate }: Pick<Request, "authorization_list" | "delegate"> = {}
): Fees["type"] => (isEip1559 || authorization_list !== undefined || delegate !== undefined ? "eip1559" : "legacy")

/** The first offer of a request, within the cap. Undefined: the fees of the chain are not known. */
export const firstOffer = (request: Request, terms: EvmTerms, market: Market | undefined): Fees | undefined => {
  const given = givenFees(request)
  if (given !== undefined) return atMost(given, terms.cap)
  return market && atMost(priceOf(market, speedOf(request), priceType(terms, request)), terms.cap)
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
  return one === undefined ? 0n : maxFeeOf(raisedFees(highest(one, ...others)))
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

// How much gas a transaction needs at least, and which limit it gets.

/** What a transaction does: without `to` it creates a contract from `data`. */
export interface GasCall {
  readonly to?: string
  /** `0x` and two hex digits per byte. */
  readonly data: string
  /** How many authorizations it carries. Absent: none. */
  readonly authorizations?: number
}

/** Bytes of a `0x` text. */
export const byteLength = (data: string): number => (data.length - 2) / 2

/** How many bytes are zero, and how many are not. */
const countBytes = (data: string): { readonly zero: bigint; readonly nonZero: bigint } => {
  let zero = 0
  for (let at = 2; at < data.length; at += 2) if (data[at] === "0" && data[at + 1] === "0") zero++
  return { zero: BigInt(zero), nonZero: BigInt(byteLength(data) - zero) }
}

const creationCost = (data: string): bigint =>
  creationGas + initCode.gasPerWord * BigInt(Math.ceil(byteLength(data) / 32))

/** Gas that a transaction uses before it executes anything, EIP-3860's word cost included. */
export const intrinsicGas = ({ to, data, authorizations = 0 }: GasCall): bigint => {
  const { zero, nonZero } = countBytes(data)
  const calldata = zero * calldataGas.zero + nonZero * calldataGas.nonZero
  const list = entryGas * BigInt(authorizations)
  return transactionGas + calldata + list + (to === undefined ? creationCost(data) : 0n)
}

/** Gas that a transaction pays at least for its calldata (EIP-7623). */
export const calldataFloor = ({ data }: GasCall): bigint => {
  const { zero, nonZero } = countBytes(data)
  return transactionGas + floor.gasPerToken * (zero + floor.tokensPerNonZero * nonZero)
}

export const gasCallOf = ({
  to,
  data = "0x",
  authorization_list
}: Pick<Request, "to" | "data"> & { readonly authorization_list?: ReadonlyArray<unknown> }): GasCall => ({
  data,
  ...(to === undefined ? {} : { to }),
  ...(authorization_list === undefined ? {} : { authorizations: authorization_list.length })
})

/** The least gas limit with which a node accepts a transaction. */
export const minimumGas = (call: GasCall): bigint => {
  const [before, least] = [intrinsicGas(call), calldataFloor(call)]
  return before > least ? before : least
}

/** What no gas limit may exceed. */
export interface GasCaps {
  /** The gas limit of the newest block. Absent if it is not known. */
  readonly blockGasLimit?: bigint
  /** EIP-7825. Absent: not active on this network. */
  readonly transactionGasCap?: bigint
}

/** The smaller cap. Undefined: none is known. */
const gasCapOf = ({ blockGasLimit, transactionGasCap }: GasCaps): bigint | undefined => {
  if (blockGasLimit === undefined || transactionGasCap === undefined) return blockGasLimit ?? transactionGasCap
  return blockGasLimit < transactionGasCap ? blockGasLimit : transactionGasCap
}

/**
 * The limit for an estimate: with a margin, because state moves, but within the caps. An estimate of exactly 21,000 is a
 * plain transfer to an account without code: it needs no margin, and some receivers check for it.
 */
export const estimatedLimitOf = (estimate: bigint, caps: GasCaps): bigint => {
  if (estimate === transactionGas) return estimate
  const wanted = scaleUp(estimate, estimateMargin)
  const cap = gasCapOf(caps)
  return cap === undefined || wanted <= cap ? wanted : cap
}

/** The caps of the newest block and of the network. */
export const gasCapsOf = (
  { gasLimit }: { readonly gasLimit?: bigint },
  { transactionGasCap }: { readonly transactionGasCap?: bigint }
): GasCaps => ({
  ...(gasLimit === undefined ? {} : { blockGasLimit: gasLimit }),
  ...(transactionGasCap === undefined ? {} : { transactionGasCap })
})

/**
 * The estimate, if the request has it compared with its own limit and it is above that. A call that uses more than its caller
 * expects, such as a contract that verifies a signature, could burn the gas of a whole block.
 */
export const estimateAboveLimit = (
  request: Pick<Request, "simulate" | "gas_limit">,
  estimate: Estimate | undefined
): { readonly gas_limit: bigint; readonly estimate: bigint } | undefined => {
  const { gas_limit } = request
  if (!isEstimated(request) || gas_limit === undefined || estimate?._tag !== "Gas") return undefined
  return estimate.gas > gas_limit ? { gas_limit, estimate: estimate.gas } : undefined
}

/** Whether the call is estimated before it is signed. */
export const isEstimated = ({ simulate, gas_limit }: Pick<Request, "simulate" | "gas_limit">): boolean =>
  simulate ?? gas_limit === undefined
