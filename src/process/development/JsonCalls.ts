// Calls of the local chains and of the service's own API, as a user makes them with curl.
import { Effect, Schema } from "effect"
import type { Redacted } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { DevelopmentFailed } from "./DevelopmentNetwork.ts"

const failed = (what: string) => () => new DevelopmentFailed({ message: `${what} gives no usable answer` })

const execute = <S extends Schema.Top>(what: string, request: HttpClientRequest.HttpClientRequest, answer: S) =>
  Effect.flatMap(HttpClient.HttpClient, (client) => client.execute(request)).pipe(
    Effect.flatMap((response) =>
      Effect.flatMap(response.json, Schema.decodeUnknownEffect(answer)).pipe(
        Effect.map((body) => ({ status: response.status, body }))
      )
    ),
    Effect.mapError(failed(what)),
    Effect.provide(FetchHttpClient.layer)
  )

const RpcAnswer = Schema.Struct({
  result: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.Struct({ message: Schema.String }))
})

/** One JSON-RPC call. */
export const rpc = Effect.fnUntraced(function* (url: string, method: string, params: ReadonlyArray<unknown>) {
  const request = HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(url), {
    jsonrpc: "2.0",
    id: 1,
    method,
    params
  })
  const { body } = yield* execute(`${method} of ${url}`, request, RpcAnswer)
  if (body.error === undefined) return body.result
  return yield* new DevelopmentFailed({ message: `${url} refuses ${method}: ${body.error.message}` })
})

/** Posts JSON to a URL of a local chain that is no JSON-RPC, and ignores the answer. */
export const post = (url: string, body: object) =>
  Effect.asVoid(
    execute(`POST ${url}`, HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(url), body), Schema.Unknown)
  )

const Envelope = Schema.Struct({
  success: Schema.Boolean,
  data: Schema.Unknown,
  message: Schema.optionalKey(Schema.String),
  error: Schema.optionalKey(Schema.String)
})

interface Answer {
  readonly status: number
  readonly data: unknown
  /** Why the request was refused. */
  readonly refusal: string | undefined
}

export interface Api {
  /** A refused request is an answer, not a failure. */
  readonly call: (
    method: "GET" | "POST" | "PATCH",
    path: string,
    body?: object
  ) => Effect.Effect<Answer, DevelopmentFailed>
  /** A refused request is a failure. */
  readonly data: <S extends Schema.ConstraintDecoder<unknown>>(
    method: "GET" | "POST" | "PATCH",
    path: string,
    schema: S,
    body?: object
  ) => Effect.Effect<S["Type"], DevelopmentFailed>
}

export const api = (baseUrl: string, key: Redacted.Redacted): Api => {
  const call: Api["call"] = Effect.fnUntraced(function* (method, path, body) {
    const bare = HttpClientRequest.bearerToken(HttpClientRequest.make(method)(`${baseUrl}/api/v1${path}`), key)
    const request = body === undefined ? bare : HttpClientRequest.bodyJsonUnsafe(bare, body)
    const { status, body: answer } = yield* execute(`${method} ${path}`, request, Envelope)
    const refusal = answer.success ? undefined : [answer.message, answer.error].filter(Boolean).join(": ")
    return { status, data: answer.data, refusal }
  })
  return {
    call,
    data: Effect.fnUntraced(function* (method, path, schema, body) {
      const { data, refusal } = yield* call(method, path, body)
      if (refusal !== undefined) {
        return yield* new DevelopmentFailed({ message: `${method} ${path} is refused: ${refusal}` })
      }
      return yield* Effect.mapError(Schema.decodeUnknownEffect(schema)(data), failed(`${method} ${path}`))
    })
  }
}
