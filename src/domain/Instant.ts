// Moments, as ISO 8601 texts with a time zone.
import { Schema } from "effect"

export const Instant = Schema.String.annotate({ format: "date-time" }).pipe(
  Schema.decodeTo(Schema.DateTimeUtcFromString)
)
