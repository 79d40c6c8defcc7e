// Amounts in a chain's smallest unit. They exceed 2^53, so they are `bigint` inside and keep every digit on the wire.
import type { NetworkType } from "../network/NetworkId.ts"
import { rawInteger } from "../request/ExactJson.ts"
import { integerIn } from "../request/Integer.ts"
import type { Encoded } from "../request/Integer.ts"

/** The smallest unit of the native token, by network type. */
export const units: Readonly<Record<NetworkType, string>> = { evm: "wei", solana: "lamports", stellar: "stroops" }

const text = /^(0|[1-9]\d{0,38})$/
const text256 = /^(0|[1-9]\d{0,77})$/

/** A JSON number with every digit. */
const fromBigInt = (value: bigint): Encoded => (value <= Number.MAX_SAFE_INTEGER ? Number(value) : rawInteger(value))

/** Prices in wei and other 128-bit amounts: 0 to 2^128−1. */
export const Uint128 = integerIn({ format: "uint128", minimum: 0n, maximum: 2n ** 128n - 1n, text, encode: fromBigInt })

/** Balances in wei: 0 to 2^256−1. Chains for tests, and chains whose fees are tokens, show some beyond 128 bits. */
export const Uint256 = integerIn({
  format: "uint256",
  minimum: 0n,
  maximum: 2n ** 256n - 1n,
  text: text256,
  encode: fromBigInt
})

/** Lamports, stroops and token units: 0 to 2^64−1. */
export const Uint64 = integerIn({ format: "uint64", minimum: 0n, maximum: 2n ** 64n - 1n, text, encode: fromBigInt })

/** 1 to 2^64−1. */
export const PositiveUint64 = integerIn({
  format: "uint64",
  minimum: 1n,
  maximum: 2n ** 64n - 1n,
  text,
  encode: fromBigInt
})

/** The same as `Uint64`, but written as a decimal string, so that a program without exact numbers reads every digit. */
export const DecimalUint64 = integerIn({ format: "uint64", minimum: 0n, maximum: 2n ** 64n - 1n, text })
