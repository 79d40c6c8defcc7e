// Moments, as ISO 8601 texts with a time zone.
import { DateTime, Schema } from "effect"

/** The years that ISO 8601 writes with four digits: PostgreSQL knows all of them, but not all that `Date` does. */
const isStorable = Schema.makeFilter(
  (moment: DateTime.Utc) => {
    const year = DateTime.getPartUtc(moment, "year")
    return year >= 1 && year <= 9999
  },
  { expected: "a moment of the years 0001 to 9999" }
)

export const Instant = Schema.String.annotate({ format: "date-time" }).pipe(
  Schema.decodeTo(Schema.DateTimeUtcFromString.check(isStorable))
)
