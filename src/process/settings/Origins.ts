// The origins of browsers that may call the API, as the setting CORS_ORIGINS lists them.
import { Schema, SchemaTransformation } from "effect"

/** As a browser sends it: without a path, and without a port that is the scheme's own. */
const isOrigin = (text: string): boolean => /^https?:/.test(text) && URL.parse(text)?.origin === text

const Origin = Schema.String.check(
  Schema.makeFilter(isOrigin, { expected: "origins such as https://console.example.com, with commas between them" })
)

export const FromText = Schema.String.pipe(
  Schema.decodeTo(
    Schema.Array(Origin),
    SchemaTransformation.transform({
      decode: (text: string): ReadonlyArray<string> => text.split(",").map((origin) => origin.trim()),
      encode: (origins) => origins.join(",")
    })
  )
)
