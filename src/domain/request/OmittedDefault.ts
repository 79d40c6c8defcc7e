// Fields of responses that are left out while they have their default value.
import { Option, Schema, SchemaGetter } from "effect"

/** A field that is always there in a value. In JSON, its absence means `usual`. */
export const omittedDefault = <S extends Schema.Constraint>(schema: S, usual: S["Type"]) =>
  Schema.optionalKey(schema).pipe(
    Schema.decodeTo(Schema.toType(schema), {
      decode: SchemaGetter.transformOptional(Option.orElseSome(() => usual)),
      encode: SchemaGetter.transformOptional(Option.filter((value) => value !== usual))
    })
  )
