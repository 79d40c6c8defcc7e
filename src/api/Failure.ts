// Schemas of failure bodies. They work both ways: the server encodes an error, the typed client decodes it to its class.
import { Schema, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { field } from "../domain/request/Field.ts"
import * as Shown from "../domain/request/Shown.ts"

const Nothing = Schema.Null.annotate({
  identifier: "NoData",
  description: "Always null in a failure.",
  examples: [null]
})

const Failed = Schema.Literal(false).annotate({
  identifier: "Failed",
  description: "Whether the request succeeded.",
  examples: [false]
})

export const explanation = Shown.Words.annotate({
  identifier: "Explanation",
  description: "What is wrong, for people: each invalid field, or what uses the resource.",
  examples: ["name: is required; paused: Expected boolean"]
})

export const fields = <Message extends string>(message: Message) => ({
  data: Nothing,
  message: field(Schema.Literal(message), "Names the failure, for programs.", message),
  success: Failed
})

/** The value that `fields` describes. */
export const values = <const Message extends string>(message: Message) => ({
  data: null,
  message,
  success: false as const
})

interface Named {
  readonly identifier: string
}

/** Name of the schema in the OpenAPI document, such as `RelayerNotFoundError`. */
const identifierOf = ({ identifier }: Named) => `${identifier.replace(/Error$/, "")}Error`

type Class = Schema.Top & Named

interface Of<E, Fields> {
  new (fields: Fields): E
}

/** `description` says what it means to the caller. */
const bodied = <E extends Class, Fields extends Schema.Struct.Fields>(
  error: E,
  status: number,
  description: string,
  fields: Fields,
  transformation: {
    readonly decode: (body: Schema.Struct<Fields>["Type"]) => E["Type"]
    readonly encode: (error: E["Type"]) => Schema.Struct<Fields>["Type"]
  }
) =>
  Schema.Struct(fields)
    .annotate({ identifier: identifierOf(error) })
    .pipe(Schema.decodeTo(Schema.toType(error), SchemaTransformation.transform(transformation)))
    .annotate({ description })
    .pipe(HttpApiSchema.status(status))

/** A failure without further data. */
export const failure =
  (status: number) =>
  <E extends Class & Of<E["Type"], {}>, const Message extends string>(
    error: E,
    message: Message,
    description: string
  ) =>
    bodied(error, status, description, fields(message), {
      decode: () => new error({}),
      encode: () => values(message)
    })

/** A failure whose `error` text says more. */
export const explained =
  (status: number) =>
  <
    E extends Class & Of<E["Type"], { readonly error: string }> & { readonly Type: { readonly error: string } },
    const Message extends string
  >(
    error: E,
    message: Message,
    description: string
  ) =>
    bodied(
      error,
      status,
      description,
      { ...fields(message), error: explanation },
      {
        decode: (body) => new error({ error: body.error }),
        encode: (failed) => ({ ...values(message), error: failed.error })
      }
    )

const known = (error: string | undefined) => (error === undefined ? {} : { error })

/** A failure that has an `error` text if the service knows more. */
export const explainedAtTimes =
  (status: number) =>
  <
    E extends Class & Of<E["Type"], { readonly error?: string }> & { readonly Type: { readonly error?: string } },
    const Message extends string
  >(
    error: E,
    message: Message,
    description: string
  ) =>
    bodied(
      error,
      status,
      description,
      { ...fields(message), error: Schema.optionalKey(explanation) },
      {
        decode: (body) => new error(known(body.error)),
        encode: (failed) => ({ ...values(message), ...known(failed.error) })
      }
    )

/** A failure whose `error` text is always the message of the error. */
export const sentence =
  (status: number) =>
  <E extends Class & Of<E["Type"], {}> & { readonly Type: { readonly message: string } }, const Message extends string>(
    error: E,
    message: Message,
    description: string
  ) =>
    bodied(
      error,
      status,
      description,
      { ...fields(message), error: explanation },
      {
        decode: () => new error({}),
        encode: (failed) => ({ ...values(message), error: failed.message })
      }
    )

/** A failure whose response has headers. */
export const headed = <E extends Schema.Top & Named, const Message extends string, Fields extends Schema.Struct.Fields>(
  error: E,
  status: number,
  message: Message,
  description: string,
  headers: Fields,
  transformation: {
    readonly decode: (headers: Schema.Struct<Fields>["Type"]) => E["Type"]
    readonly encode: (error: E["Type"]) => Schema.Struct<Fields>["Type"]
  }
) =>
  error
    .pipe(
      HttpApiSchema.encodeToWithHeaders(
        {
          body: Schema.Struct(fields(message))
            .annotate({ identifier: identifierOf(error) })
            .pipe(HttpApiSchema.status(status)),
          headers
        },
        {
          decode: ({ headers }) => transformation.decode(headers),
          encode: (error) => ({ body: values(message), headers: transformation.encode(error) })
        }
      )
    )
    .annotate({ description })
