// Values for programs without Effect: date-times are RFC 3339 texts, secrets and identifiers are texts.
import { DateTime, Redacted } from "effect"
import type { Brand } from "effect"

// Both types ask for texts before objects: for TypeScript, a text with known values and any others, such as a code, is an object as well.

type Items<T> = { readonly [K in keyof T]: Plain<T[K]> }

/** What a response contains. Amounts are `bigint`. */
export type Plain<T> = unknown extends T
  ? T
  : T extends DateTime.DateTime
    ? string
    : T extends Redacted.Redacted<infer A>
      ? A
      : T extends Brand.Brand<string>
        ? Brand.Brand.Unbranded<T>
        : T extends string
          ? T
          : T extends object
            ? Items<T>
            : T

type PlainInputs<T> = { readonly [K in keyof T]: PlainInput<T[K]> }

/** What a request takes. Amounts may also be numbers or texts of digits, and date-times also `Date`. */
export type PlainInput<T> = unknown extends T
  ? T
  : T extends DateTime.DateTime
    ? string | Date
    : T extends Redacted.Redacted<infer A>
      ? A
      : T extends Brand.Brand<string>
        ? Brand.Brand.Unbranded<T>
        : T extends string
          ? T
          : T extends bigint
            ? bigint | number | string
            : T extends object
              ? PlainInputs<T>
              : T

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

const plainValue = (value: unknown): unknown => {
  if (DateTime.isDateTime(value)) return DateTime.formatIso(value)
  if (Redacted.isRedacted(value)) return Redacted.value(value)
  if (Array.isArray(value)) return value.map(plainValue)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plainValue(item)]))
}

export const plain = <A>(value: A): Plain<A> => plainValue(value) as Plain<A>

/** The JSON text of a request. It keeps every digit of `bigint` values. */
export const toText = (value: unknown): string =>
  JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? JSON.rawJSON(String(item)) : item))

const parameter = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(parameter)
  return value instanceof Date ? value.toISOString() : String(value)
}

/** Parameters of a path, a query or headers, as they are sent. */
export const toParameters = (values: object): object =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, parameter(value)])
  )
