// One JSON-RPC 2.0 call over HTTP. Only the decoded result leaves this module, no other text of the provider.
import { Effect, Random, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClient } from "effect/http"
import * as ExactJson from "../../domain/request/ExactJson.ts"
import type { NetworkType } from "../../domain/network/NetworkId.ts"
import * as RpcFailure from "./RpcFailure.ts"

export interface Call<A> {
  readonly method: string
  /** Absent: the call has no parameters. */
  readonly params?: ReadonlyArray<unknown> | Readonly<Record<string, unknown>>
  readonly result: Schema.ConstraintDecoder<A>
}

const Answer = Schema.Struct({
  jsonrpc: Schema.Literal("2.0"),
  id: Schema.NullOr(Schema.Union([Schema.Int, Schema.String])),
  result: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.NullOr(Schema.Struct({ code: Schema.Int })))
})

const decodeAnswer = Schema.decodeUnknownEffect(Answer)

const invalid = () => RpcFailure.failure("invalid_answer")

const parse = (text: string) => Effect.try({ try: () => ExactJson.parse(text), catch: invalid })

export const send = Effect.fnUntraced(function* <A>(
  client: HttpClient.HttpClient,
  networkType: NetworkType,
  url: string,
  { method, params, result }: Call<A>
) {
  const id = yield* Random.nextIntBetween(1, 2 ** 31)
  const request = HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(url), {
    jsonrpc: "2.0",
    id,
    method,
    ...(params === undefined ? {} : { params })
  })
  const response = yield* Effect.mapError(client.execute(request), RpcFailure.ofRequest)
  if (response.status !== 200) return yield* yield* RpcFailure.ofStatus(response)
  const text = yield* Effect.mapError(response.text, RpcFailure.ofBody)
  const answer = yield* Effect.mapError(Effect.flatMap(parse(text), decodeAnswer), invalid)
  const { error } = answer
  // In JSON-RPC, the error of a request that could not be parsed has the id null.
  if (error && (answer.id === id || answer.id === null)) return yield* RpcFailure.ofError(networkType, error.code)
  if (answer.id !== id || !("result" in answer)) return yield* invalid()
  return yield* Effect.mapError(Schema.decodeUnknownEffect(result)(answer.result), invalid)
})
