// Texts of requests: strings that are bounded and storable in PostgreSQL, among them moments.
import { DateTime, Effect, Option, Schema, SchemaGetter, SchemaIssue, SchemaTransformation } from "effect"

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

// Moments, as RFC 3339 date-times with a time zone.

const expected = "an RFC 3339 date-time with a time zone, such as 2026-01-02T03:04:05Z"

const rfc3339 = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** `Date` moves a day that does not exist, such as 30 February, into the next month. */
const dayExists = (day: string): boolean => {
  const midnight = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(midnight) && DateTime.formatIso(DateTime.makeUnsafe(midnight)).startsWith(day)
}

const parseMoment = (text: string): DateTime.Utc | undefined => {
  const upper = text.toUpperCase()
  const day = rfc3339.exec(upper)?.[1]
  return day === undefined || !dayExists(day) ? undefined : DateTime.makeUnsafe(Date.parse(upper))
}

const minimum = DateTime.makeUnsafe("0001-01-01T00:00:00Z")
const maximum = DateTime.makeUnsafe("9999-12-31T23:59:59.999Z")

/** Generated values are moments that can occur in the service. */
const generated = {
  order: DateTime.Order,
  minimum: DateTime.makeUnsafe("2000-01-01T00:00:00Z"),
  maximum: DateTime.makeUnsafe("2099-12-31T23:59:59.999Z")
}

/** RFC 3339 writes years with four digits. PostgreSQL stores all of these years, and not all that `Date` can hold. */
const isStorableMoment = Schema.makeFilter((moment: DateTime.Utc) => DateTime.between(moment, { minimum, maximum }), {
  expected: "a moment in the years 0001 to 9999",
  arbitraryConstraint: generated
})

export const Instant = Schema.String.annotate({ format: "date-time", expected }).pipe(
  Schema.decodeTo(
    Schema.DateTimeUtc.check(isStorableMoment),
    SchemaTransformation.transformEffect({
      decode: (text: string, options) => {
        const moment = parseMoment(text)
        return moment === undefined
          ? Effect.fail(new SchemaIssue.InvalidValue({ expected }, text, options))
          : Effect.succeed(moment)
      },
      encode: (moment: DateTime.Utc) => Effect.succeed(DateTime.formatIso(moment))
    })
  )
)
