// What transactions can cost, and whether the balance covers one more. All amounts in wei.
import { maxFeeOf, tipOf } from "./Fees.ts"
import { priceOf } from "./Market.ts"
import type { Market } from "./Market.ts"
import { noopsInReserve, transactionGas } from "./EvmNumbers.ts"
import { operatorFeeAt } from "./OperatorFee.ts"
import type { Figures } from "../Cause.ts"
import { reservationOf } from "../Queue.ts"
import type { Attempt, Receipt, Transaction } from "../Transaction.ts"
import type { Evm, Priced } from "./Evm.ts"
import type { ReceiptDetails, Seen } from "./View.ts"

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
