// Documentation of fields, for the OpenAPI document.
import { Schema } from "effect"

/**
 * A field with a description and an example. They are attached to the encoded side, which is the side that the document
 * shows, so `example` is a value as it is on the wire.
 */
export const field = <S extends Schema.Top>(
  schema: S,
  description: string,
  ...examples: ReadonlyArray<S["Encoded"]>
): S["Rebuild"] => {
  const documentation = examples.length === 0 ? { description } : { description, examples }
  return schema.ast.encoding === undefined
    ? schema.annotateKey(documentation)
    : Schema.flip(Schema.flip(schema).annotateKey(documentation))
}

/** The description of a field that the wire format of existing clients does not have. */
export const added = (description: string): string => `${description} An addition to the common wire format.`

/** A property that a response omits while it is unknown. `example` is what stands in the JSON. */
export const shown = <S extends Schema.Top>(schema: S, description: string, example: S["Encoded"]) =>
  Schema.optionalKey(field(schema, description, example))
