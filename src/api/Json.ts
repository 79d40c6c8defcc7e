// JSON bodies that keep every digit of an integer.
import { Effect, Result, Schema, SchemaGetter, SchemaIssue, SchemaTransformation } from "effect"
import type { SchemaAST } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { parse } from "../domain/request/ExactJson.ts"
import * as Discriminator from "./Discriminator.ts"

const stock = SchemaTransformation.fromJsonString()

type Read = (text: string) => unknown

const read: Read = (text) => parse(text)

const readOrEmpty: Read = (text) => (text === "" ? {} : parse(text))

/** `JSON.stringify` writes the `JSON.rawJSON` values of `domain/chain/Amount.ts` as they are, so the stock encoder works. */
const decodedBy = (read: Read, schema: Schema.Constraint) => {
  const discriminator = Discriminator.discriminatorOf(schema.ast)
  const decodeMember = Schema.decodeUnknownResult(schema as Schema.Codec<unknown>)
  const missing = (value: unknown, options: SchemaAST.ParseOptions) => {
    const decode = (input: unknown) =>
      Result.match(decodeMember(input, options), { onFailure: ({ issue }) => issue, onSuccess: () => undefined })
    return discriminator === undefined
      ? undefined
      : Discriminator.issueOf(discriminator, { ast: schema.ast, decode }, value)
  }
  return new SchemaTransformation.Transformation<unknown, string>(
    SchemaGetter.transformEffect((text: string, options) =>
      Result.match(
        Result.try(() => read(text)),
        {
          onFailure: () => Effect.fail(new SchemaIssue.InvalidValue({ expected: "valid JSON" }, text, options)),
          onSuccess: (value) => {
            const issue = missing(value, options)
            return issue === undefined ? Effect.succeed(value) : Effect.fail(issue)
          }
        }
      )
    ),
    stock.encode
  )
}

const textBy = <S extends Schema.Constraint>(schema: S, read: Read): Schema.fromJsonString<S> =>
  Schema.String.pipe(Schema.decodeTo(schema, decodedBy(read, schema) as never)) as never

/** The JSON text of `schema`. */
export const fromText = <S extends Schema.Constraint>(schema: S): Schema.fromJsonString<S> => textBy(schema, read)

/** A body of content type `application/json`. */
export const body = <S extends Schema.Constraint>(schema: S) =>
  fromText(schema).pipe(HttpApiSchema.asText({ contentType: "application/json" }))

/** A merge patch, under its own content type (RFC 7396, section 4) or plain `application/json`. */
export const mergePatch = <S extends Schema.Constraint>(schema: S) =>
  [body(schema), fromText(schema).pipe(HttpApiSchema.asText({ contentType: "application/merge-patch+json" }))] as const

/** A body that may be left out because every field of it may be. */
export const optionalBody = <S extends Schema.Constraint>(schema: S) =>
  textBy(schema, readOrEmpty).pipe(HttpApiSchema.asText({ contentType: "application/json" }))
