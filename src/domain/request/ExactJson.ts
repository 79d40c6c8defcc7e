// JSON that keeps every digit of an integer, with the integers of requests; `JSON.parse` alone loses digits above 2^53.
import { Predicate, Schema, SchemaTransformation } from "effect"
import { integer, integerOf } from "./ExactParse.ts"
import type { RawInteger } from "./ExactParse.ts"

export { parse } from "./ExactParse.ts"
export type { RawInteger } from "./ExactParse.ts"

/** JSON text with every digit of `bigint` values. */
export const rawInteger = (value: bigint): RawInteger => JSON.rawJSON(String(value))

const isRawInteger = (value: unknown): value is RawInteger => JSON.isRawJSON(value) && integer.test(value.rawJSON)

const mapLeaves = (value: unknown, f: (leaf: unknown) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((item) => mapLeaves(item, f))
  if (!Predicate.isObject(value) || JSON.isRawJSON(value)) return f(value)
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, mapLeaves(child, f)]))
}

/** The largest number of nested levels. No resource has as many, and they do not overflow the stack. */
const maxDepth = 32

const isShallow = (value: unknown, depth = 0): boolean =>
  !Predicate.isObjectKeyword(value) ||
  (depth < maxDepth && Object.values(value).every((child) => isShallow(child, depth + 1)))

/** Whether the JSON text of the number stands for an integer, such as `1e+24`: parsed, it is a `bigint` if it is not safe. */
const isWhole = (value: number): boolean => integerOf(String(value)) !== undefined

/** False if the number has lost digits, or if its JSON text is parsed as another value. `Shallow` refuses what is deeper. */
const isExact = (value: unknown, depth = 0): boolean => {
  if (Object.is(value, -0)) return false
  if (typeof value === "number") {
    return Number.isSafeInteger(value) || (Number.isFinite(value) && !isWhole(value))
  }
  if (!Predicate.isObjectKeyword(value) || depth === maxDepth) return true
  return Object.values(value).every((child) => isExact(child, depth + 1))
}

/**
 * Whether no number of the value was unreadable or beyond the range of a double, such as 1e400, and the value nests at most `levels`
 * levels deeper than `Value` may.
 */
export const isReadable = (value: unknown, levels: number): boolean =>
  Predicate.isObjectKeyword(value)
    ? levels > -maxDepth && Object.values(value).every((child) => isReadable(child, levels - 1))
    : typeof value !== "number" || Number.isFinite(value)

/** A value that is readable, as `Value` carries it: a double without a fraction beyond 2^53, such as 1e16, becomes the `bigint` of its text. */
export const carried = (value: unknown): unknown =>
  mapLeaves(value, (leaf) => {
    if (leaf === 0) return 0
    return typeof leaf === "number" && !Number.isSafeInteger(leaf) ? (integerOf(String(leaf)) ?? leaf) : leaf
  })

const shallow = Schema.makeFilter((value: unknown) => isShallow(value), { message: `nests deeper than ${maxDepth}` })

const Shallow = Schema.Unknown.check(shallow)

const Exact = Schema.Unknown.check(
  shallow,
  Schema.makeFilter((value: unknown) => isExact(value), {
    message:
      "has a negative zero, an integer that is longer than 80 digits or has lost digits, or a number that JSON cannot keep"
  })
)

const decodeLeaf = (leaf: unknown) => {
  if (isRawInteger(leaf)) return BigInt(leaf.rawJSON)
  return leaf === 0 ? 0 : leaf
}

/** Any JSON of up to `maxDepth` levels, with integers beyond ±(2^53−1) as `bigint`. */
export const Value = Shallow.pipe(
  Schema.decodeTo(
    Exact,
    SchemaTransformation.transform<unknown, unknown>({
      decode: (value) => mapLeaves(value, decodeLeaf),
      encode: (value) => mapLeaves(value, (leaf) => (typeof leaf === "bigint" ? rawInteger(leaf) : leaf))
    })
  )
)

// Integers of requests, without loss: they exceed 2^53, so they are `bigint` inside. A request gives a JSON number or a text.

/** A JSON number, a `bigint` if `ExactJson.parse` found a number beyond 2^53, or a text of digits or with an exponent. */
export type EncodedInteger = number | bigint | string | RawInteger

interface IntegerOptions {
  readonly minimum: bigint
  readonly maximum: bigint
  /** The texts that stand for an integer, beside those with an exponent. `BigInt` must read all of them. */
  readonly text: RegExp
  /** What is counted, in messages: `wei`. Absent: nothing is said. */
  readonly unit?: string
  /** What a value can be, in messages. Absent: a number or a decimal string. */
  readonly forms?: string
  /** The `format` in JSON Schema. */
  readonly format?: string
  /** Absent: the decimal string. */
  readonly encode?: (value: bigint) => EncodedInteger
}

/** A number of JSON that has an exponent, such as `1e18`: as a text it stands for the same integer, or for none. */
const exponential = /^-?(0|[1-9]\d*)(\.\d+)?[eE][+-]?\d+$/

const exponentialOf = (input: string): bigint | undefined => (exponential.test(input) ? integerOf(input) : undefined)

const toBigInt = (input: EncodedInteger): bigint =>
  typeof input === "string"
    ? (exponentialOf(input) ?? BigInt(input))
    : BigInt(isRawInteger(input) ? input.rawJSON : input)

/** JSON values proper, for codecs whose output is parsed without `ExactJson`: a number beyond 2^53 becomes a string. */
const toJson = (input: EncodedInteger): number | string =>
  typeof input === "number" || typeof input === "string" ? input : String(toBigInt(input))

export const integerIn = ({
  minimum,
  maximum,
  text,
  unit,
  forms = "a number or a decimal string",
  format,
  encode = String
}: IntegerOptions) => {
  const expected = `${unit === undefined ? "an integer" : `a whole number of ${unit}`} from ${minimum} to ${maximum}, as ${forms}`
  const isEncoded = (input: unknown): input is EncodedInteger =>
    Predicate.isBigInt(input) ||
    Number.isSafeInteger(input) ||
    (Predicate.isString(input) && (text.test(input) || exponentialOf(input) !== undefined)) ||
    isRawInteger(input)
  return Schema.declare(isEncoded, {
    expected,
    contentMediaType: "application/json",
    contentSchema: {
      anyOf: [
        { type: "integer", ...(format === undefined ? {} : { format }), minimum: Number(minimum) },
        { type: "string", pattern: `${text.source}|${exponential.source}` }
      ]
    },
    toCodecJson: () =>
      Schema.link<EncodedInteger>()(
        Schema.Union([Schema.Finite, Schema.String]),
        SchemaTransformation.transform<EncodedInteger, number | string>({ decode: (input) => input, encode: toJson })
      )
  }).pipe(
    Schema.decodeTo(
      Schema.BigInt.check(Schema.isBetweenBigInt({ minimum, maximum }, { expected })),
      SchemaTransformation.transform<bigint, EncodedInteger>({ decode: toBigInt, encode })
    )
  )
}

// Where a text stops being JSON, which `JSON.parse` says only in words that quote it.

/** Punctuation of JSON, a text, or another value without parts, with the white space before it. */
const part =
  /[ \t\r\n]*(?:([{}[\],:])|("(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))/uy

/** The signs that a value may start with: `"` stands for a text, `0` for another value without parts. */
const value = '{["0'

/** The offset at which the text is no JSON any more, its length if the end is missing. Undefined: it is JSON. */
const brokenOffset = (text: string): number | undefined => {
  const open: Array<string> = []
  const next = () => (open.at(-1) === "{" ? ",}" : open.at(-1) === "[" ? ",]" : "")
  let isKey = false
  let expected = value
  let at = 0
  for (;;) {
    part.lastIndex = at
    const [whole, punctuation, quoted] = part.exec(text) ?? []
    const sign = punctuation ?? (quoted === undefined ? "0" : '"')
    if (whole === undefined || !expected.includes(sign)) {
      const rest = text.slice(at).search(/[^ \t\r\n]/)
      if (rest === -1) return expected === "" ? undefined : text.length
      return at + rest
    }
    at += whole.length
    if (sign === "{" || sign === "[") {
      open.push(sign)
      isKey = sign === "{"
      expected = isKey ? '}"' : `]${value}`
    } else if (sign === ",") {
      isKey = open.at(-1) === "{"
      expected = isKey ? '"' : value
    } else if (sign === ":") {
      isKey = false
      expected = value
    } else {
      if (sign === "}" || sign === "]") open.pop()
      expected = isKey && sign === '"' ? ":" : next()
      isKey = false
    }
  }
}

/** Where the text stops being JSON, counted from 1. Undefined: it is JSON. */
export const brokenAt = (text: string): { readonly line: number; readonly column: number } | undefined => {
  const offset = brokenOffset(text)
  if (offset === undefined) return undefined
  const before = text.slice(0, offset)
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") }
}
