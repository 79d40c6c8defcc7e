// JSON-RPC batches over HTTP, whose answers keep the code and the text of each error: only the text says what a node
// does with a transaction. The text may repeat secrets of the URL, so it is classified or decoded and never shown as it is.
import { Data, Effect, Predicate, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClient, HttpClientResponse } from "effect/http"
import * as ExactJson from "../../../domain/request/ExactJson.ts"
import { classify } from "../../../domain/transaction/Refusal.ts"
import * as RpcFailure from "../RpcFailure.ts"

export interface RpcCall {
  readonly method: string
  readonly params: ReadonlyArray<unknown>
}

export type RpcAnswer =
  | { readonly _tag: "Result"; readonly value: unknown }
  | { readonly _tag: "RpcError"; readonly code: number; readonly message: string; readonly data?: unknown }
  /** The batch was answered, but this call was not. */
  | { readonly _tag: "Missing" }

/** The whole exchange came to nothing. */
export class Unanswered extends Data.TaggedError("Unanswered")<{
  readonly failure: RpcFailure.RpcFailure
  /** Absent: no HTTP response. */
  readonly http?: { readonly status: number; readonly message: string }
}> {}

/** UTF-16 code units of an error text that are read. */
const maxTextLength = 1000

const Answer = Schema.Struct({
  id: Schema.NullOr(Schema.Union([Schema.Int, Schema.String])),
  result: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        code: Schema.Finite,
        message: Schema.optionalKey(Schema.String),
        data: Schema.optionalKey(Schema.Unknown)
      })
    )
  )
})
type Answer = typeof Answer.Type

const decodeAnswer = Schema.decodeUnknownOption(Answer)
const decodeAnswers = Schema.decodeUnknownEffect(Schema.Array(Answer))

const unanswered = (failure: RpcFailure.RpcFailure) => new Unanswered({ failure })

const invalid = () => unanswered(RpcFailure.failure("invalid_answer"))

const toRpcAnswer = (answer: Answer | undefined): RpcAnswer => {
  if (answer === undefined) return { _tag: "Missing" }
  if (answer.error) {
    const { code, message = "", data } = answer.error
    return { _tag: "RpcError", code, message: message.slice(0, maxTextLength), ...(data === undefined ? {} : { data }) }
  }
  return "result" in answer ? { _tag: "Result", value: answer.result } : { _tag: "Missing" }
}

const parse = (text: string) => Effect.try({ try: () => ExactJson.parse(text), catch: invalid })

/** Some nodes put the JSON-RPC error of a refused transaction into a response that is not 200. */
const messageIn = (text: string) =>
  parse(text).pipe(
    Effect.map((json) => {
      const answer = decodeAnswer(Array.isArray(json) ? json[0] : json)
      return answer._tag === "Some" ? (answer.value.error?.message ?? text) : text
    }),
    Effect.orElseSucceed(() => text),
    Effect.map((message) => message.slice(0, maxTextLength))
  )

/** What a text says about a transaction is an answer, whatever the status is. */
const isAboutTransaction = (message: string): boolean => classify({ _tag: "RpcError", message }) !== "unknown"

const failedStatus = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse) {
  const failure = yield* RpcFailure.ofStatus(response)
  const message = yield* messageIn(yield* Effect.orElseSucceed(response.text, () => ""))
  return new Unanswered({
    failure: isAboutTransaction(message) ? RpcFailure.answered("refused", `HTTP ${response.status}`) : failure,
    http: { status: response.status, message }
  })
})

const post = Effect.fnUntraced(function* (client: HttpClient.HttpClient, url: string, body: unknown) {
  const request = HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(url), body)
  const response = yield* Effect.mapError(client.execute(request), (error) => unanswered(RpcFailure.ofRequest(error)))
  if (response.status !== 200) return yield* yield* failedStatus(response)
  const text = yield* Effect.mapError(response.text, (error) => unanswered(RpcFailure.ofBody(error)))
  return yield* parse(text)
})

const bodyOf = ({ method, params }: RpcCall, id: number) => ({ jsonrpc: "2.0", id, method, params })

export const sendOne = Effect.fnUntraced(function* (client: HttpClient.HttpClient, url: string, call: RpcCall) {
  const json = yield* post(client, url, bodyOf(call, 1))
  const answer = decodeAnswer(json)
  return answer._tag === "Some" ? toRpcAnswer(answer.value) : yield* invalid()
})

/** One answer per call, in the order of the calls. Fails if the node does not answer with a list. */
export const sendBatch = Effect.fnUntraced(function* (
  client: HttpClient.HttpClient,
  url: string,
  calls: ReadonlyArray<RpcCall>
) {
  const json = yield* post(
    client,
    url,
    calls.map((call, index) => bodyOf(call, index + 1))
  )
  const answers = yield* Effect.mapError(decodeAnswers(json), invalid)
  const byId = new Map(answers.map((answer) => [answer.id, answer]))
  return calls.map((_, index) => toRpcAnswer(byId.get(index + 1)))
})

/** Whether a failure of a batch may only mean that the node takes no batches, or none of this size. */
export const mayRefuseBatches = ({ failure, http }: Unanswered): boolean =>
  failure.code === "invalid_answer" || (Predicate.isNotUndefined(http) && failure.code === "refused")
