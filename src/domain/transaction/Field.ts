// Optional properties of the wire, with the description and the example that the API documents show.
import { Schema } from "effect"

/** A property that a response omits while it is unknown. `example` is what stands in the JSON. */
export const shown = <S extends Schema.Top>(schema: S, description: string, example: S["Encoded"]) =>
  Schema.optionalKey(schema.pipe(Schema.annotateEncoded({ description, examples: [example] })))
