// Integers of requests, without loss: they exceed 2^53, so they are `bigint` inside. A request gives a JSON number or a text.
import { Predicate, Schema, SchemaTransformation } from "effect"
import { isRawInteger } from "./ExactJson.ts"
import type { RawInteger } from "./ExactJson.ts"

/** A JSON number, a `bigint` if `ExactJson.parse` found a number beyond 2^53, or a text of digits. */
export type Encoded = number | bigint | string | RawInteger

interface Options {
  readonly minimum: bigint
  readonly maximum: bigint
  /** The texts that stand for an integer. `BigInt` must read all of them. */
  readonly text: RegExp
  /** What is counted, in messages: `wei`. Absent: nothing is said. */
  readonly unit?: string
  /** What a value can be, in messages. Absent: a number or a decimal string. */
  readonly forms?: string
  /** The `format` in JSON Schema. */
  readonly format?: string
  /** Absent: the decimal string. */
  readonly encode?: (value: bigint) => Encoded
}

const toBigInt = (input: Encoded): bigint => BigInt(isRawInteger(input) ? input.rawJSON : input)

/** JSON values proper, for codecs whose output is parsed without `ExactJson`: a number beyond 2^53 becomes a string. */
const toJson = (input: Encoded): number | string =>
  typeof input === "number" || typeof input === "string" ? input : String(toBigInt(input))

export const integerIn = ({
  minimum,
  maximum,
  text,
  unit,
  forms = "a number or a decimal string",
  format,
  encode = String
}: Options) => {
  const expected = `${unit === undefined ? "an integer" : `a whole number of ${unit}`} from ${minimum} to ${maximum}, as ${forms}`
  const isEncoded = (input: unknown): input is Encoded =>
    Predicate.isBigInt(input) ||
    Number.isSafeInteger(input) ||
    (Predicate.isString(input) && text.test(input)) ||
    isRawInteger(input)
  return Schema.declare(isEncoded, {
    expected,
    contentMediaType: "application/json",
    contentSchema: {
      anyOf: [
        { type: "integer", ...(format === undefined ? {} : { format }), minimum: Number(minimum) },
        { type: "string", pattern: text.source }
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
      SchemaTransformation.transform<bigint, Encoded>({ decode: toBigInt, encode })
    )
  )
}
