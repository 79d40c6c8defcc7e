// Amounts in a chain's smallest unit. They exceed 2^53, so they are `bigint` inside and keep every digit on the wire.
import { Schema, SchemaTransformation } from "effect"
import type { NetworkType } from "../network/Network.ts"
import { integerIn, rawInteger } from "../request/ExactJson.ts"
import type { EncodedInteger } from "../request/ExactJson.ts"

/** The smallest unit of the native token, by network type. */
export const units: Readonly<Record<NetworkType, string>> = { evm: "wei", solana: "lamports", stellar: "stroops" }

const text = /^(0|[1-9]\d{0,38})$/
const text256 = /^(0|[1-9]\d{0,77})$/

/** A JSON number with every digit. */
const fromBigInt = (value: bigint): EncodedInteger =>
  value <= Number.MAX_SAFE_INTEGER ? Number(value) : rawInteger(value)

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

// Integers of evm requests, without loss: a JSON number, a decimal string or a 0x-hex string. Responses use strings.

const evmInteger = (minimum: bigint, maximum: bigint, unit?: string) =>
  integerIn({
    minimum,
    maximum,
    ...(unit === undefined ? {} : { unit }),
    text: /^(0|[1-9]\d{0,77}|0x[0-9a-fA-F]{1,64})$/,
    forms: "a number, a decimal string or a 0x-hex string"
  })

/** Wei: 0 to 2^256−1, the range of the chain. */
export const Wei = evmInteger(0n, 2n ** 256n - 1n, "wei")

/** Wei per gas: 0 to 2^128−1, as the cap of a policy. */
export const WeiPerGas = evmInteger(0n, 2n ** 128n - 1n, "wei")

/** Gas: 1 to 2^53−1, because responses show it as a JSON number. */
export const GasLimit = evmInteger(1n, BigInt(Number.MAX_SAFE_INTEGER))

/** Wei as responses show it: `0x` and hex digits. */
export const HexWei = Schema.String.check(
  Schema.isPattern(/^0x(0|[1-9a-f][0-9a-f]{0,63})$/u, { expected: "0x and hex digits" })
).pipe(
  Schema.decodeTo(
    Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 2n ** 256n - 1n })),
    SchemaTransformation.transform<bigint, string>({ decode: BigInt, encode: (wei) => `0x${wei.toString(16)}` })
  )
)
