// Strings of requests: bounded, and storable in PostgreSQL.
import { Option, Schema, SchemaGetter } from "effect"

/** PostgreSQL cannot store NUL, and a lone surrogate has no UTF-8 form. */
const isStorable = Schema.makeFilter((text: string) => !text.includes("\0") && text.isWellFormed(), {
  expected: "text without NUL characters and lone surrogates",
  toJsonSchema: () => [{}, true]
})

/** Text of `min` to `max` code points, which is what JSON Schema and PostgreSQL count. */
export const text = (min: number, max: number) =>
  Schema.String.check(isStorable, Schema.isBetweenCodePoints(min, max, { expected: `${min} to ${max} characters` }))

/** A filter by an id. Longer than any id. */
export const searchText = text(0, 256)

/** At most this many entries in any list of a request. */
const maxListLength = 1000

/** A list of at most `maxListLength` entries. */
export const list = <S extends Schema.Constraint>(item: S) =>
  Schema.Array(item).check(Schema.isMaxLength(maxListLength))

interface Documentation<T> {
  readonly description: string
  readonly examples?: ReadonlyArray<T>
}

/** An optional field of a request: `null` counts as absent, and an absent field is never written. */
export const maybe = <S extends Schema.Constraint>(schema: S, documentation?: Documentation<S["Encoded"]>) =>
  Schema.optionalKey(Schema.NullOr(schema))
    .annotateKey({ ...documentation })
    .pipe(
      Schema.decodeTo(Schema.optionalKey(Schema.toType(schema)), {
        decode: SchemaGetter.transformOptional(Option.filter((value) => value !== null)),
        encode: SchemaGetter.transformOptional((value: Option.Option<S["Type"] | null>) => value)
      })
    )

/** Identifiers of relayers, signers and notifications. */
export const resourceId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,36}$/u, {
    expected: "1 to 36 letters, digits, dashes and underscores"
  })
)

/** A boolean in a query. */
export const flag = (description: string) =>
  Schema.Literals(["true", "false"])
    .annotate({
      contentMediaType: "application/json",
      contentSchema: { type: "boolean", description, examples: [true] }
    })
    .pipe(
      Schema.decodeTo(Schema.Boolean, {
        decode: SchemaGetter.transform((text: "true" | "false") => text === "true"),
        encode: SchemaGetter.transform((flag: boolean): "true" | "false" => (flag ? "true" : "false"))
      })
    )
