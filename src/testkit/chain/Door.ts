// The door of a chain in memory for the real service: JSON-RPC over HTTP, one URL for each provider, with the faults of the provider.
import { Effect, Schema } from "effect"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import type { HttpClientRequest } from "effect/http"
import type { BlockBytes } from "./Blocks.ts"
import type { Provider } from "./Chain.ts"

const Call = Schema.Struct({
  id: Schema.Unknown,
  method: Schema.String,
  params: Schema.optionalKey(Schema.Unknown)
})
const Body = Schema.fromJsonString(Schema.Union([Call, Schema.Array(Call)]))

interface Replied {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** Undefined: the answer does not arrive. */
export type Reply = Replied | undefined

export const result = (value: unknown): Reply => ({ result: value })
export const failed = (message: string, code = -32000, data?: unknown): Reply => ({
  error: { code, message, ...(data === undefined ? {} : { data }) }
})

export const listOf = (params: unknown): ReadonlyArray<unknown> => (Array.isArray(params) ? params : [])

/** Member of an object among the parameters of a call. */
export const memberOf = (object: unknown, name: string): unknown =>
  typeof object === "object" && object !== null ? Reflect.get(object, name) : undefined

const lost = (request: HttpClientRequest.HttpClientRequest) =>
  Effect.fail(
    new HttpClientError.HttpClientError({
      reason: new HttpClientError.TransportError({ request, description: "the provider does not answer" })
    })
  )

interface Served<B extends BlockBytes> {
  readonly providers: ReadonlyArray<Provider<B>>
  readonly methods: Readonly<Record<string, (provider: Provider<B>, params: unknown) => Reply>>
}

const answerTo = <B extends BlockBytes>(
  { methods }: Served<B>,
  provider: Provider<B>,
  { method, params }: typeof Call.Type
): Reply => {
  const found = methods[method]
  return found === undefined
    ? failed(`the method ${method} does not exist on the chain of the test kit`, -32601)
    : found(provider, params)
}

/** Answers each URL of the chain's providers. A provider that is away, or whose answer is lost, fails as a broken connection does. */
export const client = <B extends BlockBytes>(served: Served<B>): HttpClient.HttpClient =>
  HttpClient.make((request, url) =>
    Effect.gen(function* () {
      const provider = served.providers.find((one) => one.url === url.href)
      if (provider === undefined || provider.isAway) return yield* lost(request)
      const text = request.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : ""
      const body = yield* Effect.orDie(Schema.decodeEffect(Body)(text))
      const calls = Array.isArray(body) ? body : [body]
      const answers = calls.map((call) => ({ id: call.id, answer: answerTo(served, provider, call) }))
      if (answers.some(({ answer }) => answer === undefined)) return yield* lost(request)
      const replies = answers.map(({ id, answer }) => ({ jsonrpc: "2.0", id, ...answer }))
      return HttpClientResponse.fromWeb(request, Response.json(Array.isArray(body) ? replies : replies[0]))
    })
  )
