// Decodes the request of a program without Effect into the request of the typed client.
import { Effect, Schema } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import * as Plain from "./Plain.ts"

/** The rules of the API: no unknown fields, and every invalid field is reported. */
const strict = { errors: "all", onExcessProperty: "error" } as const

const decode = (schema: Schema.Top | undefined, encoded: () => unknown) =>
  schema === undefined
    ? Effect.undefined
    : Schema.decodeUnknownEffect(schema as Schema.Codec<unknown>)(encoded(), strict)

/** All content types of a payload have the same schema. */
const payloadOf = ({ payload }: HttpApiEndpoint.Top): Schema.Top | undefined =>
  [...payload.values()].flatMap(({ schemas }) => schemas).at(0)

export interface PlainRequest {
  readonly params?: object
  readonly query?: object
  readonly headers?: object
  readonly payload?: unknown
}

export const decoded = (endpoint: HttpApiEndpoint.Top, request: PlainRequest) =>
  Effect.all({
    params: decode(endpoint.params, () => Plain.toParameters(request.params ?? {})),
    query: decode(endpoint.query, () => Plain.toParameters(request.query ?? {})),
    headers: decode(endpoint.headers, () => Plain.toParameters(request.headers ?? {})),
    payload: decode(payloadOf(endpoint), () => Plain.toText(request.payload ?? {}))
  })
