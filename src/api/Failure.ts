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

interface Fieldless<E> {
  new (props: {}): E
}

/** A failure without further data. `description` says what it means to the caller. */
export const failure = <E extends Schema.Top & Named & Fieldless<E["Type"]>, const Message extends string>(
  error: E,
  status: number,
  message: Message,
  description: string
) =>
  Schema.Struct(fields(message))
    .annotate({ identifier: identifierOf(error) })
    .pipe(
      Schema.decodeTo(
        Schema.toType(error),
        SchemaTransformation.transform({
          decode: (): E["Type"] => new error({}),
          encode: () => values(message)
        })
      )
    )
    .annotate({ description })
    .pipe(HttpApiSchema.status(status))

interface Explained<E> {
  new (props: { readonly error: string }): E
}

/** A failure whose `error` text says more. */
export const explained = <
  E extends Schema.Top & Named & Explained<E["Type"]> & { readonly Type: { readonly error: string } },
  const Message extends string
>(
  error: E,
  status: number,
  message: Message,
  description: string
) =>
  Schema.Struct({ ...fields(message), error: explanation })
    .annotate({ identifier: identifierOf(error) })
    .pipe(
      Schema.decodeTo(
        Schema.toType(error),
        SchemaTransformation.transform({
          decode: (failed): E["Type"] => new error({ error: failed.error }),
          encode: (failed: E["Type"]) => ({ ...values(message), error: failed.error })
        })
      )
    )
    .annotate({ description })
    .pipe(HttpApiSchema.status(status))

/** A failure whose `error` text is always the message of the error. */
export const sentence = <
  E extends Schema.Top & Named & Fieldless<E["Type"]> & { readonly Type: { readonly message: string } },
  const Message extends string
>(
  error: E,
  status: number,
  message: Message,
  description: string
) =>
  Schema.Struct({ ...fields(message), error: explanation })
    .annotate({ identifier: identifierOf(error) })
    .pipe(
      Schema.decodeTo(
        Schema.toType(error),
        SchemaTransformation.transform({
          decode: (): E["Type"] => new error({}),
          encode: (failed: E["Type"]) => ({ ...values(message), error: failed.message })
        })
      )
    )
    .annotate({ description })
    .pipe(HttpApiSchema.status(status))

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
