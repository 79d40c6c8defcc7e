// Optional properties of responses.
import { Schema } from "effect"
import { field } from "../request/Field.ts"

/** A property that a response omits while it is unknown. `example` is what stands in the JSON. */
export const shown = <S extends Schema.Top>(schema: S, description: string, example: S["Encoded"]) =>
  Schema.optionalKey(field(schema, description, example))
