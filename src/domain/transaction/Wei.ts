// Integers of evm requests, without loss: a JSON number, a decimal string or a 0x-hex string. Responses use strings.
import { Predicate, Schema, SchemaTransformation } from "effect"

/** A `bigint` stands for a JSON number beyond 2^53. */
type Encoded = number | bigint | string

const integer = /^(0|[1-9]\d{0,77}|0x[0-9a-fA-F]{1,64})$/

const isEncoded = (input: unknown): input is Encoded =>
  Predicate.isBigInt(input) || Number.isSafeInteger(input) || (Predicate.isString(input) && integer.test(input))

const integerIn = (minimum: bigint, maximum: bigint) => {
  const expected = `an integer from ${minimum} to ${maximum}, as a number, a decimal string or a 0x-hex string`
  return Schema.declare(isEncoded, {
    expected,
    contentMediaType: "application/json",
    contentSchema: {
      anyOf: [
        { type: "integer", minimum: Number(minimum) },
        { type: "string", pattern: integer.source }
      ]
    },
    toCodecJson: () =>
      Schema.link<Encoded>()(
        Schema.Union([Schema.Finite, Schema.String]),
        SchemaTransformation.transform<Encoded, number | string>({
          decode: (input) => input,
          encode: (input) => (typeof input === "bigint" ? String(input) : input)
        })
      )
  }).pipe(
    Schema.decodeTo(
      Schema.BigInt.check(Schema.isBetweenBigInt({ minimum, maximum }, { expected })),
      SchemaTransformation.transform<bigint, Encoded>({ decode: BigInt, encode: String })
    )
  )
}

/** Wei: 0 to 2^256−1, the range of the chain. */
export const Wei = integerIn(0n, 2n ** 256n - 1n)

/** Wei per gas: 0 to 2^128−1, as the cap of a policy. */
export const WeiPerGas = integerIn(0n, 2n ** 128n - 1n)

/** Gas: 1 to 2^53−1, because responses show it as a JSON number. */
export const GasLimit = integerIn(1n, BigInt(Number.MAX_SAFE_INTEGER))

/** Wei as responses show it: `0x` and hex digits. */
export const HexWei = Schema.String.check(
  Schema.isPattern(/^0x(0|[1-9a-f][0-9a-f]{0,63})$/u, { expected: "0x and hex digits" })
).pipe(
  Schema.decodeTo(
    Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 2n ** 256n - 1n })),
    SchemaTransformation.transform<bigint, string>({ decode: BigInt, encode: (wei) => `0x${wei.toString(16)}` })
  )
)
