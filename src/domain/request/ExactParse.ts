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

const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** The integer that the text of a number stands for, such as `1e18` and `1.50`. Undefined: it has a fraction, or more than 80 digits. */
export const integerOf = (source: string): bigint | undefined => {
  const match = parts.exec(source)
  if (match === null) return undefined
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match
  const digits = `${whole}${fraction}`
  let zeros = 0
  while (zeros < digits.length && digits[digits.length - 1 - zeros] === "0") zeros += 1
  if (zeros === digits.length) return 0n
  const significant = digits.slice(0, digits.length - zeros).replace(/^0+/, "")
  const power = Number(exponent) - fraction.length + zeros
  if (power < 0 || significant.length + power > maxDigits) return undefined
  return BigInt(`${sign}${significant}${"0".repeat(power)}`)
}

/** Not a number: no schema of an integer accepts it, so the response names the field. */
const unreadable = Number.NaN

const exactIntegers: Reviver = (_, value, { source } = {}) => {
  if (typeof value !== "number" || source === undefined) return value
  const exact = integerOf(source)
  if (Number.isSafeInteger(value)) return exact === undefined ? unreadable : value
  return exact ?? (integer.test(source) ? unreadable : value)
}

/**
 * Matches if the text may contain an integer beyond ±(2^53−1), or a fraction that `JSON.parse` rounds to an integer: 16 digits
 * from 9 on, or more digits with or without a point, or an exponent. Digits after a quote or a letter, as in an address, are no
 * number. The reviver makes parsing many times slower.
 */
const mayLoseDigits = /(?:^|[[,:\s])-?(?:9\d{15}|[\d.]{17}|[\d.]+[eE])/

/**
 * `JSON.parse`, except that integers beyond ±(2^53−1), such as 1e18, become `bigint`. Integers of more than 80 digits, and fractions that a
 * number rounds to an integer, become `NaN`. Throws as `JSON.parse` does.
 */
export const parse = (text: string): unknown =>
  parseWithSource(text, mayLoseDigits.test(text) ? exactIntegers : undefined)
