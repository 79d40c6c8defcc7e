// JSON-RPC 2.0 over HTTP, in single calls and in batches. Answers keep the code and the text of each error: only the text says
// what a node does with a transaction. The text may repeat secrets of the URL, so it is classified or decoded and never shown.
import { Data, Effect, Option, Schema } from "effect"
import type { Duration } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClient, HttpClientResponse } from "effect/http"
import type { CheckCode } from "../../domain/chain/ChainSnapshot.ts"
import * as ExactJson from "../../domain/request/ExactJson.ts"
import * as RpcFailure from "./RpcFailure.ts"

export interface RpcCall {
  readonly method: string
  /** Absent: the call has no parameters. */
  readonly params?: ReadonlyArray<unknown> | Readonly<Record<string, unknown>>
}

export type RpcAnswer =
  | { readonly _tag: "Result"; readonly value: unknown }
  | {
      readonly _tag: "RpcError"
      readonly code: number
      readonly message: string
      readonly data?: unknown
      /** The time that the HTTP response asks to wait. */
      readonly retryAfter?: Duration.Duration
    }

/** The whole exchange came to nothing. */
export class Unanswered extends Data.TaggedError("Unanswered")<{
  readonly failure: RpcFailure.RpcFailure
  /** Absent: no HTTP response. */
  readonly http?: { readonly status: number; readonly message: string }
  /** Whether the time limit has ended the exchange. Absent: false. */
  readonly isTimeout?: boolean
  /** Whether the provider was asked a second time in vain. Absent: false. */
  readonly isRepeated?: boolean
}> {}

/** Where and how calls are sent. */
export interface RpcEndpoint {
  readonly client: HttpClient.HttpClient
  readonly url: string
  /** Whether the text of a response with another status than 200 answers the call. It is no failure of the provider then. */
  readonly isAnswer: (message: string) => boolean
  /** Codes of errors that say nothing about the call. */
  readonly codes: Readonly<Record<number, CheckCode>>
}

/** UTF-16 code units of an error text that are read. */
const maxTextLength = 1000

/** Codes of errors are integers of up to ten digits: a larger one is none that a response could repeat. */
const maxCode = 9_999_999_999

const Answer = Schema.Struct({
  id: Schema.NullOr(Schema.Union([Schema.Int, Schema.String])),
  result: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        code: Schema.Finite.check(Schema.isBetween({ minimum: -maxCode, maximum: maxCode })),
        message: Schema.optionalKey(Schema.String),
        data: Schema.optionalKey(Schema.Unknown)
      })
    )
  )
})
type Answer = typeof Answer.Type

const decodeAnswer = Schema.decodeUnknownOption(Answer)
const unanswered = (failure: RpcFailure.RpcFailure) => new Unanswered({ failure })

const invalid = () => unanswered(RpcFailure.failure("invalid_answer"))

const toRpcAnswer = (answer: Answer, retryAfter?: Duration.Duration): RpcAnswer | undefined => {
  if (answer.error) {
    const { code, message = "", data } = answer.error
    return {
      _tag: "RpcError",
      code,
      message: message.slice(0, maxTextLength),
      ...(data === undefined ? {} : { data }),
      ...(retryAfter === undefined ? {} : { retryAfter })
    }
  }
  return "result" in answer ? { _tag: "Result", value: answer.result } : undefined
}

const parse = (text: string) => Effect.try({ try: () => ExactJson.parse(text), catch: invalid })

/** Levels around the result of a call. */
const levelsAroundResult = 1

/** Refuses an answer before anything walks through it that has no bound of its own. */
const isReadable = (json: unknown): boolean => ExactJson.isReadable(json, levelsAroundResult)

const answerIn = (json: unknown): Answer | undefined =>
  isReadable(json) ? Option.getOrUndefined(decodeAnswer(json)) : undefined

const unreadable = () =>
  unanswered(
    RpcFailure.failure(
      "invalid_answer",
      "the answer has a number that JSON cannot carry, or more levels than any answer"
    )
  )

/** Some nodes put the JSON-RPC error of a refused transaction into a response that is not 200. */
const messageIn = (text: string) =>
  parse(text).pipe(
    Effect.map((json) => {
      const answer = answerIn(Array.isArray(json) ? json[0] : json)
      return answer?.error?.message ?? text
    }),
    Effect.orElseSucceed(() => text),
    Effect.map((message) => message.slice(0, maxTextLength))
  )

const failedStatus = Effect.fnUntraced(function* (
  endpoint: RpcEndpoint,
  response: HttpClientResponse.HttpClientResponse
) {
  const given = yield* RpcFailure.ofStatus(response)
  const message = yield* messageIn(yield* Effect.orElseSucceed(response.text, () => ""))
  const failure = RpcFailure.isRateLimitText(endpoint, message)
    ? new RpcFailure.RpcFailure({ ...given, code: "rate_limited" })
    : given
  return new Unanswered({
    failure: endpoint.isAnswer(message) ? RpcFailure.answered("refused", `HTTP ${response.status}`) : failure,
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
  return { json: yield* parse(text), retryAfter: yield* RpcFailure.retryAfterOf(response) }
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
  const { json, retryAfter } = yield* post(endpoint, bodyOf(call, id))
  if (!isReadable(json)) return yield* unreadable()
  const answer = answerIn(json)
  const found = answer !== undefined && isFor(answer, id) ? toRpcAnswer(answer, retryAfter) : undefined
  return found === undefined ? yield* invalid() : found
})

/** What an error that stands for a whole batch means. */
const refusalOf = (endpoint: RpcEndpoint, json: unknown, retryAfter: Duration.Duration | undefined) => {
  const answer = answerIn(json)
  const error = answer === undefined ? undefined : toRpcAnswer(answer)
  return error?._tag === "RpcError" && RpcFailure.isRateLimit(endpoint, error)
    ? unanswered(RpcFailure.limited(`JSON-RPC error ${error.code}`, retryAfter ?? RpcFailure.pauseOf(error)))
    : invalid()
}

/** The answers in the order of the calls, whose ids begin with `firstId`. Undefined: the call was not answered. */
export const sendBatch = Effect.fnUntraced(function* (
  endpoint: RpcEndpoint,
  calls: ReadonlyArray<RpcCall>,
  firstId: number
) {
  const { json, retryAfter } = yield* post(
    endpoint,
    calls.map((call, index) => bodyOf(call, firstId + index))
  )
  if (!Array.isArray(json)) return yield* refusalOf(endpoint, json, retryAfter)
  const byId = new Map(
    json.flatMap((item) => {
      const answer = answerIn(item)
      return answer === undefined ? [] : [[answer.id, answer] as const]
    })
  )
  return calls.map((_, index) => {
    const answer = byId.get(firstId + index)
    return answer === undefined ? undefined : toRpcAnswer(answer, retryAfter)
  })
})
