// JSON that keeps every digit of an integer, which `JSON.parse` alone does not above 2^53.
import { Effect, Predicate, Schema, SchemaTransformation } from "effect"

declare global {
  interface JSON {
    /** Text that `JSON.stringify` writes as it stands (ECMAScript "JSON.parse source text access", in Node since 22). */
    rawJSON(text: string): { readonly rawJSON: string }
  }
}

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

/** The same proposal: TypeScript's `JSON.parse` does not know it yet. */
const parseWithSource: (text: string, reviver?: Reviver) => unknown = JSON.parse

const exactIntegers: Reviver = (_, value, { source } = {}) =>
  typeof value === "number" && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source)
    ? BigInt(source)
    : value

/** `JSON.parse`, but integers beyond ±(2^53−1) become `bigint`. Throws as `JSON.parse` does. */
export const parse = (text: string): unknown => parseWithSource(text, /\d{16}/.test(text) ? exactIntegers : undefined)

/** What `JSON.stringify` writes with every digit. */
export const rawInteger = (value: bigint): unknown => JSON.rawJSON(String(value))

const raw = (value: unknown): unknown => {
  if (typeof value === "bigint") return rawInteger(value)
  if (Array.isArray(value)) return value.map(raw)
  if (!Predicate.isObject(value) || "rawJSON" in value) return value
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, raw(child)]))
}

/** Any JSON, with integers beyond ±(2^53−1) as `bigint`. */
export const Value = Schema.Unknown.pipe(
  Schema.decodeTo(
    Schema.Unknown,
    SchemaTransformation.transformEffect({
      decode: (value: unknown) => Effect.succeed(value),
      encode: (value: unknown) => Effect.succeed(raw(value))
    })
  )
)
