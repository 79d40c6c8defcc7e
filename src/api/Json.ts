// Bodies of JSON that keep every digit of an integer.
import { Effect, Schema, SchemaGetter, SchemaIssue, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { parse } from "../domain/ExactJson.ts"

const stock = SchemaTransformation.fromJsonString()

/** `JSON.stringify` writes the `JSON.rawJSON` values of `domain/Amount.ts` as they stand, so encoding stays stock. */
const transformation = new SchemaTransformation.Transformation<unknown, string>(
  SchemaGetter.transformEffect((text: string, options) =>
    Effect.try({
      try: () => parse(text),
      catch: () => new SchemaIssue.InvalidValue({ expected: "valid JSON" }, text, options)
    })
  ),
  stock.encode
)

/** The JSON text of `schema`. */
export const fromText = <S extends Schema.Constraint>(schema: S): Schema.fromJsonString<S> =>
  Schema.String.pipe(Schema.decodeTo(schema, transformation as never)) as never

/** A body of content type `application/json`. */
export const body = <S extends Schema.Constraint>(schema: S) =>
  fromText(schema).pipe(HttpApiSchema.asText({ contentType: "application/json" }))
