// JSON that keeps every digit of an integer, which `JSON.parse` alone does not above 2^53.

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

/** Source text access (ECMAScript 2026): Node has it since 22, TypeScript's `JSON.parse` does not know it yet. */
const parseWithSource: (text: string, reviver?: Reviver) => unknown = JSON.parse

const exactIntegers: Reviver = (_, value, { source } = {}) =>
  typeof value === "number" && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source)
    ? BigInt(source)
    : value

/** `JSON.parse`, but integers beyond ±(2^53−1) become `bigint`. Throws as `JSON.parse` does. */
export const parse = (text: string): unknown => parseWithSource(text, /\d{16}/.test(text) ? exactIntegers : undefined)
