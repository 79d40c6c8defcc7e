// Fields that responses omit while they have their default value.
import { Option, Schema, SchemaGetter } from "effect"

/** A field that every value has. If it is absent in JSON, it is `usual`. */
export const omittedDefault = <S extends Schema.Constraint>(schema: S, usual: S["Type"]) =>
  Schema.optionalKey(schema).pipe(
    Schema.decodeTo(Schema.toType(schema), {
      decode: SchemaGetter.transformOptional(Option.orElseSome(() => usual)),
      encode: SchemaGetter.transformOptional(Option.filter((value) => value !== usual))
    })
  )
