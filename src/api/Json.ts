// JSON bodies that keep every digit of an integer, which `JSON.parse` alone does not above 2^53.
import { Effect, Schema, SchemaGetter, SchemaIssue, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

/** Source text access (ECMAScript 2026): Node 22 has it, TypeScript's `JSON.parse` does not know it yet. */
const parseWithSource: (text: string, reviver?: Reviver) => unknown = JSON.parse

const exactIntegers: Reviver = (_, value, { source } = {}) =>
  typeof value === "number" && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source)
    ? BigInt(source)
    : value

/** `JSON.parse`, but integers beyond ±(2^53−1) become `bigint`. Throws as `JSON.parse` does. */
export const parse = (text: string): unknown => parseWithSource(text, /\d{16}/.test(text) ? exactIntegers : undefined)

const stock = SchemaTransformation.fromJsonString()

/** `JSON.stringify` writes the `JSON.rawJSON` values of `domain/Amount.ts` as they stand, so encoding stays stock. */
const transformation = new SchemaTransformation.Transformation<unknown, string>(
  SchemaGetter.transformEffect((text: string, options) =>
    Effect.try({
      try: () => parse(text),
      catch: () => new SchemaIssue.InvalidValue({ expected: "valid JSON" }, text, options)
    })
  ),
  stock.encode
)

/** The JSON text of `schema`. */
export const fromText = <S extends Schema.Constraint>(schema: S): Schema.fromJsonString<S> =>
  Schema.String.pipe(Schema.decodeTo(schema, transformation as never)) as never

/** A body of content type `application/json`. */
export const body = <S extends Schema.Constraint>(schema: S) =>
  fromText(schema).pipe(HttpApiSchema.asText({ contentType: "application/json" }))
