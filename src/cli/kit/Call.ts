// Calls the service with the typed client, and words the failure of a call.
import { Effect, Layer, Ref } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import type { Headers } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import { SecureRandom } from "effect/crypto"
import { Idempotency } from "../../api/Middleware.ts"
import { ApiClient } from "../../client/ApiClient.ts"
import * as ExactJson from "../../domain/request/ExactJson.ts"
import { CommandFailed, exitCodes } from "./CommandFailed.ts"
import * as Connection from "./Connection.ts"
import * as Identification from "./Identification.ts"
import * as Table from "./Table.ts"
import * as Unreachable from "./Unreachable.ts"

/** A response as it was received. */
export interface Answer {
  readonly status: number
  readonly headers: Headers.Headers
  /** With every digit of numbers. `undefined`: the body is not JSON. */
  readonly json: unknown
}

export type Client = ApiClient["Service"]

/** A create without a response is sent again with the same key, so that it takes effect once. */
const idempotency = Layer.unwrap(
  Effect.map(SecureRandom.SecureRandom, ({ uuidV4 }) =>
    HttpApiMiddleware.layerClient(Idempotency, ({ next, request }) =>
      request.method === "POST"
        ? Effect.flatMap(uuidV4(), (key) =>
            next(HttpClientRequest.setHeader(request, "idempotency-key", key)).pipe(
              Effect.retry({ times: 1, while: Unreachable.isUnreachable })
            )
          )
        : next(request)
    )
  )
).pipe(Layer.provide(SecureRandom.layerWebCrypto))

const parse = (text: string): unknown => {
  try {
    return ExactJson.parse(text)
  } catch {
    return undefined
  }
}

const remembering = (last: Ref.Ref<Answer | undefined>) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(
      HttpClient.HttpClient,
      HttpClient.tap(({ status, headers, text }) =>
        Effect.flatMap(text, (body) => Ref.set(last, { status, headers, json: parse(body) }))
      )
    )
  ).pipe(Layer.provide(FetchHttpClient.layer))

interface Refusal {
  readonly message?: unknown
  readonly error?: unknown
}

const refused = ({ status, headers, json }: Answer): CommandFailed => {
  const { message, error } = (json ?? {}) as Refusal
  const what =
    typeof message === "string" ? message : `the response has the status ${status} and is not from effect-relayer`
  const why = typeof error === "string" ? `: ${error}` : ""
  const id = headers["x-request-id"]
  return new CommandFailed({
    message: Table.printable(`${what}${why}${id === undefined ? "" : ` (x-request-id ${id})`}`),
    exitCode: status === 401 || status === 403 ? exitCodes.unauthorized : exitCodes.refused,
    status
  })
}

const explain = (baseUrl: string, answer: Answer | undefined) => (error: unknown) => {
  if (answer !== undefined && answer.status >= 300) return refused(answer)
  if (Unreachable.isUnreachable(error)) return Unreachable.failed(baseUrl, error)
  return new CommandFailed({
    message: `the service at ${baseUrl} sent a response that this version does not understand`,
    exitCode: exitCodes.refused
  })
}

/** Returns a function that calls the service, after the host has identified itself. Calls must not overlap. */
export const open = Effect.fnUntraced(function* (given: Connection.Given) {
  const { baseUrl, apiKey } = yield* Connection.open(given)
  yield* Identification.check(baseUrl)
  const last = yield* Ref.make<Answer | undefined>(undefined)
  const client = ApiClient.layer({ baseUrl, apiKey }).pipe(Layer.provide([remembering(last), idempotency]))
  return Effect.fnUntraced(function* <A, E>(call: (client: Client) => Effect.Effect<A, E>) {
    const value = yield* Effect.flatMap(ApiClient, call).pipe(
      Effect.provide(client),
      Effect.catch((error) => Effect.flatMap(Ref.get(last), (answer) => Effect.fail(explain(baseUrl, answer)(error))))
    )
    const answer = yield* Ref.get(last)
    return answer === undefined ? yield* Effect.die("the client made no request") : { value, answer }
  })
})
