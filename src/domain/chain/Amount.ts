// Amounts of a chain's smallest unit. They exceed 2^53, so they are `bigint` inside and keep every digit on the wire.
import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { rawInteger } from "../request/ExactJson.ts"

const decimal = /^(0|[1-9]\d{0,38})$/

/** A JSON number (a `bigint` where `Json.parse` found one above 2^53), or a decimal string. */
const toBigInt = (input: unknown): bigint | undefined => {
  if (typeof input === "bigint") return input
  if (typeof input === "number") return Number.isSafeInteger(input) ? BigInt(input) : undefined
  return typeof input === "string" && decimal.test(input) ? BigInt(input) : undefined
}

const amount = (format: "uint64" | "uint128", maximum: bigint, minimum: bigint) => {
  const expected = `an integer from ${minimum} to ${maximum}, as a number or a decimal string`
  return Schema.Unknown.annotate({ format }).pipe(
    Schema.decodeTo(
      Schema.BigInt.check(Schema.isBetweenBigInt({ minimum, maximum }, { expected })),
      SchemaTransformation.transformEffect({
        decode: (input: unknown, options) => {
          const value = toBigInt(input)
          return value === undefined
            ? Effect.fail(new SchemaIssue.InvalidValue({ expected }, input, options))
            : Effect.succeed(value)
        },
        encode: (value: bigint): Effect.Effect<unknown> => Effect.succeed(rawInteger(value))
      })
    )
  )
}

/** Wei and other 128-bit amounts: 0 to 2^128−1. */
export const Uint128 = amount("uint128", 2n ** 128n - 1n, 0n)

/** Lamports, stroops and token units: 0 to 2^64−1. */
export const Uint64 = amount("uint64", 2n ** 64n - 1n, 0n)

/** 1 to 2^64−1. */
export const PositiveUint64 = amount("uint64", 2n ** 64n - 1n, 1n)
