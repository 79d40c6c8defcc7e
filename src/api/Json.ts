// Bodies of JSON that keep every digit of an integer.
import { Effect, Schema, SchemaGetter, SchemaIssue, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { parse } from "../domain/request/ExactJson.ts"

const stock = SchemaTransformation.fromJsonString()

/** `JSON.stringify` writes the `JSON.rawJSON` values of `domain/Amount.ts` as they stand, so encoding stays stock. */
const decodedBy = (read: (text: string) => unknown) =>
  new SchemaTransformation.Transformation<unknown, string>(
    SchemaGetter.transformEffect((text: string, options) =>
      Effect.try({
        try: () => read(text),
        catch: () => new SchemaIssue.InvalidValue({ expected: "valid JSON" }, text, options)
      })
    ),
    stock.encode
  )

const transformation = decodedBy(parse)

/** The JSON text of `schema`. */
export const fromText = <S extends Schema.Constraint>(schema: S): Schema.fromJsonString<S> =>
  Schema.String.pipe(Schema.decodeTo(schema, transformation as never)) as never

/** A body of content type `application/json`. */
export const body = <S extends Schema.Constraint>(schema: S) =>
  fromText(schema).pipe(HttpApiSchema.asText({ contentType: "application/json" }))

/** A merge patch, under its own content type (RFC 7396, section 4) or plain `application/json`. */
export const mergePatch = <S extends Schema.Constraint>(schema: S) =>
  [body(schema), fromText(schema).pipe(HttpApiSchema.asText({ contentType: "application/merge-patch+json" }))] as const

const transformationOrEmpty = decodedBy((text) => (text === "" ? {} : parse(text)))

/** A body that may be left out, where every field may be. */
export const optionalBody = <S extends Schema.Constraint>(schema: S): ReturnType<typeof body<S>> =>
  Schema.String.pipe(
    Schema.decodeTo(schema, transformationOrEmpty as never),
    HttpApiSchema.asText({ contentType: "application/json" })
  ) as never
