// Amounts in a chain's smallest unit. They exceed 2^53, so they are `bigint` inside and keep every digit on the wire.
import { Predicate, Schema, SchemaTransformation } from "effect"
import { isRawInteger, rawInteger } from "../request/ExactJson.ts"
import type { RawInteger } from "../request/ExactJson.ts"

/** A JSON number, a `bigint` if `ExactJson.parse` found a number beyond 2^53, or a decimal string. */
type Encoded = number | bigint | string | RawInteger

const decimal = /^(0|[1-9]\d{0,38})$/

const isEncoded = (input: unknown): input is Encoded =>
  Predicate.isBigInt(input) ||
  Number.isSafeInteger(input) ||
  (Predicate.isString(input) && decimal.test(input)) ||
  isRawInteger(input)

const toBigInt = (input: Encoded): bigint => BigInt(isRawInteger(input) ? input.rawJSON : input)

const fromBigInt = (value: bigint): Encoded => (value <= Number.MAX_SAFE_INTEGER ? Number(value) : rawInteger(value))

/** JSON values proper, for codecs whose output is parsed without `ExactJson`: a number beyond 2^53 becomes a string. */
const toJson = (input: Encoded): number | string =>
  typeof input === "number" || typeof input === "string" ? input : String(toBigInt(input))

const amount = (format: "uint64" | "uint128", maximum: bigint, minimum: bigint) => {
  const expected = `an integer from ${minimum} to ${maximum}, as a number or a decimal string`
  return Schema.declare(isEncoded, {
    expected,
    contentMediaType: "application/json",
    contentSchema: {
      anyOf: [
        { type: "integer", format, minimum: Number(minimum) },
        { type: "string", pattern: decimal.source }
      ]
    },
    toCodecJson: () =>
      Schema.link<Encoded>()(
        Schema.Union([Schema.Finite, Schema.String]),
        SchemaTransformation.transform<Encoded, number | string>({ decode: (input) => input, encode: toJson })
      )
  }).pipe(
    Schema.decodeTo(
      Schema.BigInt.check(Schema.isBetweenBigInt({ minimum, maximum }, { expected })),
      SchemaTransformation.transform({ decode: toBigInt, encode: fromBigInt })
    )
  )
}

/** Wei and other 128-bit amounts: 0 to 2^128−1. */
export const Uint128 = amount("uint128", 2n ** 128n - 1n, 0n)

/** Lamports, stroops and token units: 0 to 2^64−1. */
export const Uint64 = amount("uint64", 2n ** 64n - 1n, 0n)

/** 1 to 2^64−1. */
export const PositiveUint64 = amount("uint64", 2n ** 64n - 1n, 1n)
