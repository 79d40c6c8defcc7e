// A client with promises, for programs without Effect. It calls the typed client and has all of its operations.
import { Cause, Effect, Exit, Layer, Redacted } from "effect"
import type { Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import type { HttpClientError } from "effect/http"
import { HttpApi } from "effect/http-api"
import type { HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { ApiClient } from "../ApiClient.ts"
import type { Given, Plain } from "./Plain.ts"
import { plain } from "./Plain.ts"
import * as Request from "./Request.ts"
import type { Result } from "./Result.ts"

export { orThrow } from "./Result.ts"
export type { Given, Plain } from "./Plain.ts"
export type { Result } from "./Result.ts"

export interface Options {
  /** For example `http://127.0.0.1:8080`. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Absent: the `fetch` of the platform. */
  readonly fetch?: typeof globalThis.fetch
}

export interface CallOptions {
  /** Ends the call. The promise is then rejected with the reason of the signal. */
  readonly signal?: AbortSignal
}

type Part<Name extends string, T> = [T] extends [never]
  ? unknown
  : {} extends T
    ? { readonly [K in Name]?: Given<T> }
    : { readonly [K in Name]: Given<T> }

type RequestOf<E extends HttpApiEndpoint.ConstraintRequest> = Part<"params", E["~Params"]["Type"]> &
  Part<"query", E["~Query"]["Type"]> &
  Part<"headers", E["~Headers"]["Type"]> &
  Part<"payload", E["~Payload"]["Type"]>

/**
 * Errors of the API have the classes of `domain`. The others mean that there was no usable response, or that a request or a
 * response did not match its schema.
 */
export type ErrorOf<E extends HttpApiEndpoint.ConstraintRequest> =
  | E["~Error"]["Type"]
  | HttpApiMiddleware.Error<E["~Middleware"]>
  | HttpClientError.HttpClientError
  | Schema.SchemaError

type Arguments<R> = {} extends R ? [request?: R, options?: CallOptions] : [request: R, options?: CallOptions]

type Method<E extends HttpApiEndpoint.ConstraintRequest> = (
  ...args: Arguments<RequestOf<E>>
) => Promise<Result<Plain<E["~Success"]["Type"]>, ErrorOf<E>>>

type Methods<Group extends HttpApiGroup.Constraint> = Group["endpoints"] extends infer Endpoints extends Readonly<
  Record<string, HttpApiEndpoint.ConstraintRequest>
>
  ? { readonly [Name in keyof Endpoints]: Method<Endpoints[Name]> }
  : {}

type Groups = typeof Api extends HttpApi.HttpApi<infer _Id, infer All> ? All : never

export type Client = { readonly [Group in Groups as HttpApiGroup.Identifier<Group>]: Methods<Group> }

/** A method of the typed client, which its name selects at run time. */
type Typed = (request: unknown) => Effect.Effect<unknown, unknown>

const layerOf = ({ apiKey, baseUrl, fetch }: Options) =>
  ApiClient.layer({ baseUrl, apiKey: Redacted.make(apiKey) }).pipe(
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(fetch === undefined ? Layer.empty : Layer.succeed(FetchHttpClient.Fetch, fetch))
  )

const resultOf = (exit: Exit.Exit<unknown, unknown>, signal: AbortSignal | undefined): Result<unknown, unknown> => {
  if (Exit.isSuccess(exit)) return { ok: true, value: plain(exit.value) }
  if (signal?.aborted === true) throw signal.reason
  const failure = exit.cause.reasons.find(Cause.isFailReason)
  if (failure === undefined) throw Cause.squash(exit.cause)
  return { ok: false, error: failure.error }
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
    const call = Effect.fnUntraced(function* (given: Request.Given) {
      const request = yield* Request.decoded(endpoint, given)
      const method: Typed = Reflect.get(Reflect.get(typed, group), endpoint.identifier)
      return yield* method(request)
    })
    return async (given: Request.Given = {}, { signal }: CallOptions = {}) =>
      resultOf(await Effect.runPromiseExit(call(given), signal === undefined ? {} : { signal }), signal)
  }

  const client: Record<string, Record<string, unknown>> = {}
  HttpApi.reflect(Api, {
    onGroup: ({ group }) => void (client[group.identifier] = {}),
    onEndpoint: ({ group, endpoint }) =>
      void Object.assign(client[group.identifier] ?? {}, {
        [endpoint.identifier]: methodOf(group.identifier, endpoint)
      })
  })
  return client as Client
}
