// JSON-RPC 2.0 over HTTP, in single calls and in batches. Answers keep the code and the text of each error: only the text says
// what a node does with a transaction. The text may repeat secrets of the URL, so it is classified or decoded and never shown.
import { Data, Effect, Predicate, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClient, HttpClientResponse } from "effect/http"
import * as ExactJson from "../../domain/request/ExactJson.ts"
import * as RpcFailure from "./RpcFailure.ts"

export interface RpcCall {
  readonly method: string
  /** Absent: the call has no parameters. */
  readonly params?: ReadonlyArray<unknown> | Readonly<Record<string, unknown>>
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
  /** Whether the time limit has ended the exchange. Absent: false. */
  readonly isTimeout?: boolean
}> {}

/** Where and how calls are sent. */
export interface RpcEndpoint {
  readonly client: HttpClient.HttpClient
  readonly url: string
  /** Whether the text of a response with another status than 200 answers the call. It is no failure of the provider then. */
  readonly isAnswer: (message: string) => boolean
}

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

/** Levels around the result of a call: the answer, and the list of a batch. */
const levelsAroundResult = 2

/** Refuses an answer before anything walks through it that has no bound of its own. */
const parse = (text: string) =>
  Effect.filterOrFail(
    Effect.try({ try: () => ExactJson.parse(text), catch: invalid }),
    (answer) => ExactJson.isReadable(answer, levelsAroundResult),
    invalid
  )

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

const failedStatus = Effect.fnUntraced(function* (
  { isAnswer }: RpcEndpoint,
  response: HttpClientResponse.HttpClientResponse
) {
  const failure = yield* RpcFailure.ofStatus(response)
  const message = yield* messageIn(yield* Effect.orElseSucceed(response.text, () => ""))
  return new Unanswered({
    failure: isAnswer(message) ? RpcFailure.answered("refused", `HTTP ${response.status}`) : failure,
    http: { status: response.status, message }
  })
})

const post = Effect.fnUntraced(function* (endpoint: RpcEndpoint, body: unknown) {
  const request = HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(endpoint.url), body)
  const response = yield* Effect.mapError(endpoint.client.execute(request), (error) =>
    unanswered(RpcFailure.ofRequest(error))
  )
  if (response.status !== 200) return yield* yield* failedStatus(endpoint, response)
  const text = yield* Effect.mapError(response.text, (error) => unanswered(RpcFailure.ofBody(error)))
  return yield* parse(text)
})

const bodyOf = ({ method, params }: RpcCall, id: number) => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params === undefined ? {} : { params })
})

/** In JSON-RPC, the error of a request that could not be parsed has the id null. */
const isFor = ({ error, id: found }: Answer, id: number): boolean => found === id || (found === null && Boolean(error))

export const sendOne = Effect.fnUntraced(function* (endpoint: RpcEndpoint, call: RpcCall, id: number) {
  const answer = decodeAnswer(yield* post(endpoint, bodyOf(call, id)))
  const found = answer._tag === "Some" && isFor(answer.value, id) ? toRpcAnswer(answer.value) : undefined
  return found === undefined || found._tag === "Missing" ? yield* invalid() : found
})

/**
 * One answer per call, in the order of the calls, whose ids begin with `firstId`. Fails if the node
 * answers none of them.
 */
export const sendBatch = Effect.fnUntraced(function* (
  endpoint: RpcEndpoint,
  calls: ReadonlyArray<RpcCall>,
  firstId: number
) {
  const json = yield* post(
    endpoint,
    calls.map((call, index) => bodyOf(call, firstId + index))
  )
  const answers = yield* Effect.mapError(decodeAnswers(json), invalid)
  const byId = new Map(answers.map((answer) => [answer.id, answer]))
  const found = calls.map((_, index) => toRpcAnswer(byId.get(firstId + index)))
  return found.every(({ _tag }) => _tag === "Missing") ? yield* invalid() : found
})

/** Whether a failure of a batch may only mean that the node takes no batches, or none of this size. */
export const mayRefuseBatches = ({ failure, http }: Unanswered): boolean =>
  failure.code === "invalid_answer" || (Predicate.isNotUndefined(http) && failure.code === "refused")
