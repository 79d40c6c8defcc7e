// Decodes the request of a program without Effect into the request of the typed client.
import { Effect, Schema } from "effect"
import { BadRequest } from "../../domain/request/Request.ts"
import type { HttpApiEndpoint } from "effect/http-api"
import * as Plain from "./Plain.ts"

/** The rules of the API: no unknown fields, and every invalid field is reported. */
const strict = { errors: "all", onExcessProperty: "error" } as const

/** Fails as the service would, with the fields in words. `part`: of the request, for an error of the whole of it. */
const decode = (part: string, schema: Schema.Top | undefined, encoded: () => unknown) =>
  schema === undefined
    ? Effect.undefined
    : Schema.decodeUnknownEffect(schema as Schema.Codec<unknown>)(encoded(), strict).pipe(
        Effect.mapError(({ issue }) => BadRequest.fromIssue(issue, part))
      )

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
    params: decode("path", endpoint.params, () => Plain.toParameters(request.params ?? {})),
    query: decode("query", endpoint.query, () => Plain.toParameters(request.query ?? {})),
    headers: decode("headers", endpoint.headers, () => Plain.toParameters(request.headers ?? {})),
    payload: decode("body", payloadOf(endpoint), () => Plain.toText(request.payload ?? {}))
  })
