// Lists in a setting: `localhost,10.1.0.0/16`.
import { Schema, SchemaTransformation } from "effect"

/** White space and empty entries are ignored. */
export const CommaSeparated = Schema.String.pipe(
  Schema.decodeTo(
    Schema.Array(Schema.String),
    SchemaTransformation.transform({
      decode: (text: string): ReadonlyArray<string> =>
        text
          .split(",")
          .map((entry) => entry.trim())
          .filter((entry) => entry !== ""),
      encode: (entries) => entries.join(",")
    })
  )
)
