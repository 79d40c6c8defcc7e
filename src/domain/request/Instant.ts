// Moments, as RFC 3339 date-times with a time zone.
import { DateTime, Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"

const expected = "an RFC 3339 date-time with a time zone, such as 2026-01-02T03:04:05Z"

const rfc3339 = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** `Date` moves a day that does not exist, such as 30 February, into the next month. */
const dayExists = (day: string): boolean => {
  const midnight = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(midnight) && DateTime.formatIso(DateTime.makeUnsafe(midnight)).startsWith(day)
}

const parse = (text: string): DateTime.Utc | undefined => {
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
const isStorable = Schema.makeFilter((moment: DateTime.Utc) => DateTime.between(moment, { minimum, maximum }), {
  expected: "a moment in the years 0001 to 9999",
  arbitraryConstraint: generated
})

export const Instant = Schema.String.annotate({ format: "date-time", expected }).pipe(
  Schema.decodeTo(
    Schema.DateTimeUtc.check(isStorable),
    SchemaTransformation.transformEffect({
      decode: (text: string, options) => {
        const moment = parse(text)
        return moment === undefined
          ? Effect.fail(new SchemaIssue.InvalidValue({ expected }, text, options))
          : Effect.succeed(moment)
      },
      encode: (moment: DateTime.Utc) => Effect.succeed(DateTime.formatIso(moment))
    })
  )
)
