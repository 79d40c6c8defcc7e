// `JSON.parse` that keeps every digit of an integer. It imports nothing, so that programs without Effect can use it.

/** A number that `JSON.stringify` writes as the given text. */
export interface RawInteger {
  readonly rawJSON: string
}

declare global {
  interface JSON {
    /** ECMAScript proposal "JSON.parse source text access", in Node since 22. */
    rawJSON(text: string): RawInteger
    isRawJSON(value: unknown): value is RawInteger
  }
}

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

/** The same proposal: the types of `JSON.parse` do not declare the third argument of the reviver yet. */
const parseWithSource: (text: string, reviver?: Reviver) => unknown = JSON.parse

export const integer = /^-?\d+$/

/** The longest integer of a chain, 2^256−1, has 78 digits. The time that `BigInt` takes grows with the square of the digits. */
const maxDigits = 80

const parts = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Whether the text stands for a number without a fraction, such as `1.0` and `1.5e1`. */
const isWhole = (source: string): boolean => {
  const [, whole = "", fraction = "", exponent = "0"] = parts.exec(source) ?? []
  const digits = `${whole}${fraction}`
  let zeros = 0
  while (zeros < digits.length && digits[digits.length - 1 - zeros] === "0") zeros += 1
  return zeros === digits.length || Number(exponent) - fraction.length + zeros >= 0
}

/** Not a number: no schema of an integer accepts it, so the response names the field. */
const unreadable = Number.NaN

const exactIntegers: Reviver = (_, value, { source } = {}) => {
  if (typeof value !== "number" || source === undefined) return value
  if (!integer.test(source)) return Number.isSafeInteger(value) && !isWhole(source) ? unreadable : value
  if (Number.isSafeInteger(value)) return value
  return source.length > maxDigits ? unreadable : BigInt(source)
}

/**
 * Matches if the text may contain an integer beyond ±(2^53−1), or a fraction that `JSON.parse` rounds to an integer: 16 digits
 * from 9 on, or more digits with or without a point, or a negative exponent of three digits. Digits after a quote or a letter,
 * as in an address, are no number. The reviver makes parsing many times slower.
 */
const mayLoseDigits = /(?:^|[[,:\s])-?(?:9\d{15}|[\d.]{17}|[\d.]+[eE]-\d{3})/

/**
 * `JSON.parse`, except that integers beyond ±(2^53−1) become `bigint`. Integers of more than 80 digits, and fractions that a
 * number rounds to an integer, become `NaN`. Throws as `JSON.parse` does.
 */
export const parse = (text: string): unknown =>
  parseWithSource(text, mayLoseDigits.test(text) ? exactIntegers : undefined)
