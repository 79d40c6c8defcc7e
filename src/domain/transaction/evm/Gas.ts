// How much gas a transaction needs at least, and which limit it gets.
import { calldataGas, creationGas, estimateMargin, floor, initCode, transactionGas } from "./EvmNumbers.ts"
import type { Request } from "./Evm.ts"
import { scaleUp } from "./Fees.ts"

/** What a transaction does: without `to` it creates a contract from `data`. */
export interface Call {
  readonly to?: string
  /** `0x` and two hex digits per byte. */
  readonly data: string
}

/** Bytes of a `0x` text. */
export const byteLength = (data: string): number => (data.length - 2) / 2

/** How many bytes are zero, and how many are not. */
const countBytes = (data: string): { readonly zero: bigint; readonly nonZero: bigint } => {
  let zero = 0
  for (let at = 2; at < data.length; at += 2) if (data[at] === "0" && data[at + 1] === "0") zero++
  return { zero: BigInt(zero), nonZero: BigInt(byteLength(data) - zero) }
}

const creation = (data: string): bigint => creationGas + initCode.gasPerWord * BigInt(Math.ceil(byteLength(data) / 32))

/** Gas that a transaction uses before it executes anything, EIP-3860's word cost included. */
export const intrinsic = ({ to, data }: Call): bigint => {
  const { zero, nonZero } = countBytes(data)
  const calldata = zero * calldataGas.zero + nonZero * calldataGas.nonZero
  return transactionGas + calldata + (to === undefined ? creation(data) : 0n)
}

/** Gas that a transaction pays at least for its calldata (EIP-7623). */
export const calldataFloor = ({ data }: Call): bigint => {
  const { zero, nonZero } = countBytes(data)
  return transactionGas + floor.gasPerToken * (zero + floor.tokensPerNonZero * nonZero)
}

/** The least gas limit with which a node accepts a transaction. */
export const minimum = (call: Call): bigint => {
  const [before, least] = [intrinsic(call), calldataFloor(call)]
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
const capOf = ({ blockGasLimit, transactionGasCap }: GasCaps): bigint | undefined => {
  if (blockGasLimit === undefined || transactionGasCap === undefined) return blockGasLimit ?? transactionGasCap
  return blockGasLimit < transactionGasCap ? blockGasLimit : transactionGasCap
}

/**
 * The limit for an estimate: with a margin, because state moves, but within the caps. An estimate of exactly 21,000 is a
 * plain transfer to an account without code: it needs no margin, and some receivers check for it.
 */
export const limitOf = (estimate: bigint, caps: GasCaps): bigint => {
  if (estimate === transactionGas) return estimate
  const wanted = scaleUp(estimate, estimateMargin)
  const cap = capOf(caps)
  return cap === undefined || wanted <= cap ? wanted : cap
}

/** The caps of the newest block and of the network. */
export const capsOf = (
  { gasLimit }: { readonly gasLimit?: bigint },
  { transactionGasCap }: { readonly transactionGasCap?: bigint }
): GasCaps => ({
  ...(gasLimit === undefined ? {} : { blockGasLimit: gasLimit }),
  ...(transactionGasCap === undefined ? {} : { transactionGasCap })
})

/** Whether the call is estimated before it is signed. */
export const isEstimated = ({ simulate, gas_limit }: Pick<Request, "simulate" | "gas_limit">): boolean =>
  simulate ?? gas_limit === undefined
