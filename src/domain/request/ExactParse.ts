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

const exactIntegers: Reviver = (_, value, { source } = {}) =>
  typeof value === "number" && !Number.isSafeInteger(value) && source !== undefined && integer.test(source)
    ? BigInt(source)
    : value

/**
 * Matches if the text may contain an integer beyond ±(2^53−1): 16 digits from 9 on, or more digits. Digits after a quote or a
 * letter, as in an address, are no integer. The reviver makes parsing many times slower.
 */
const mayHaveLarge = /(?:^|[[,:\s])-?(?:9\d{15}|\d{17})/

/** `JSON.parse`, except that integers beyond ±(2^53−1) become `bigint`. Throws as `JSON.parse` does. */
export const parse = (text: string): unknown =>
  parseWithSource(text, mayHaveLarge.test(text) ? exactIntegers : undefined)
