// A client with promises, for programs without Effect. It calls the typed client and has all of its operations.
import { Cause, Effect, Exit, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpClientError } from "effect/http"
import { HttpApi } from "effect/http-api"
import type { HttpApiEndpoint } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { ApiClient } from "../ApiClient.ts"
import type { Client } from "./Client.ts"
import type { CallOptions, Result } from "./Method.ts"
import { plain } from "./Plain.ts"
import * as Request from "./Request.ts"

export { isOfNetwork } from "../Networks.ts"
export { orThrow } from "./Method.ts"
export type { ErrorOf } from "../Method.ts"
export type * from "./Client.ts"
export type { CallOptions, Result } from "./Method.ts"
export type { Plain, PlainInput } from "./Plain.ts"

export interface Options {
  /** For example `http://127.0.0.1:8080`. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Absent: the `fetch` of the platform. */
  readonly fetch?: typeof globalThis.fetch
}

/** A method of the typed client, which its name selects at run time. */
type Typed = (request: unknown) => Effect.Effect<unknown, unknown>

const layerOf = ({ apiKey, baseUrl, fetch }: Options) =>
  ApiClient.layer({ baseUrl, apiKey: Redacted.make(apiKey) }).pipe(
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(fetch === undefined ? Layer.empty : Layer.succeed(FetchHttpClient.Fetch, fetch))
  )

/** The innermost cause is the most specific one: `connect ECONNREFUSED 127.0.0.1:8080`. */
const deepest = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause.cause
  return inner === undefined ? cause.message : deepest(inner)
}

/** A request without a response says why: the message of `fetch` alone is "fetch failed". */
const explained = (error: unknown): unknown => {
  if (!HttpClientError.isHttpClientError(error) || error.reason._tag !== "TransportError") return error
  const { request, cause } = error.reason
  const reason = new HttpClientError.TransportError({ request, cause, description: deepest(cause) })
  return new HttpClientError.HttpClientError({ reason })
}

const resultOf = (exit: Exit.Exit<unknown, unknown>, signal: AbortSignal | undefined): Result<unknown, unknown> => {
  if (Exit.isSuccess(exit)) return { ok: true, value: plain(exit.value) }
  if (signal?.aborted === true) throw signal.reason
  const failure = exit.cause.reasons.find(Cause.isFailReason)
  if (failure === undefined) throw Cause.squash(exit.cause)
  return { ok: false, error: explained(failure.error) }
}

/**
 * ```ts
 * import { createClient } from "effect-relayer/promise"
 *
 * const client = createClient({ baseUrl: "http://127.0.0.1:8080", apiKey })
 * const found = await client.relayers.get({ params: { relayer_id: "treasury" } })
 * if (found.ok) console.log(found.value.data.address)
 * else if (found.error._tag === "RelayerNotFound") console.log("there is no such relayer")
 * else throw found.error
 * ```
 */
export const createClient = (options: Options): Client => {
  // The client holds no resource that has to be released.
  const typed = Effect.runSync(Effect.provide(ApiClient, layerOf(options)))

  const methodOf = (group: string, endpoint: HttpApiEndpoint.Top) => {
    const call = Effect.fnUntraced(function* (given: Request.PlainRequest) {
      const request = yield* Request.decoded(endpoint, given)
      const method: Typed = Reflect.get(Reflect.get(typed, group), endpoint.identifier)
      return yield* method(request)
    })
    return async (given: Request.PlainRequest = {}, { signal }: CallOptions = {}) =>
      resultOf(await Effect.runPromiseExit(call(given), signal === undefined ? {} : { signal }), signal)
  }

  const client: { readonly [Group in keyof Client]?: object } = {}
  HttpApi.reflect(Api, {
    onGroup: ({ group }) => void Object.assign(client, { [group.identifier]: {} }),
    onEndpoint: ({ group, endpoint }) =>
      void Object.assign(Reflect.get(client, group.identifier), {
        [endpoint.identifier]: methodOf(group.identifier, endpoint)
      })
  })
  return client as Client
}
