// JSON-RPC 2.0 over HTTP, in single calls and in batches, as large as the URL takes them. Answers keep the code and the text of each
// error: only the text says what a node does with a transaction. The text may repeat secrets of the URL, so it is classified or decoded
// and never shown.
import { Data, Effect, Option, Schema } from "effect"
import type { Duration } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClient, HttpClientResponse } from "effect/http"
import type { CheckCode } from "../../domain/chain/ChainSnapshot.ts"
import * as ExactJson from "../../domain/request/ExactJson.ts"
import {
  answeredFailure,
  bodyFailure,
  isRateLimit,
  isRateLimitText,
  limitedFailure,
  pauseOf,
  requestFailure,
  retryAfterOf,
  RpcFailure,
  rpcFailure,
  statusFailure
} from "./RpcFailure.ts"

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
  readonly failure: RpcFailure
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
const unanswered = (failure: RpcFailure) => new Unanswered({ failure })

const invalid = () => unanswered(rpcFailure("invalid_answer"))

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
    rpcFailure("invalid_answer", "the answer has a number that JSON cannot carry, or more levels than any answer")
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
  const given = yield* statusFailure(response)
  const message = yield* messageIn(yield* Effect.orElseSucceed(response.text, () => ""))
  const failure = isRateLimitText(endpoint, message) ? new RpcFailure({ ...given, code: "rate_limited" }) : given
  return new Unanswered({
    failure: endpoint.isAnswer(message) ? answeredFailure("refused", `HTTP ${response.status}`) : failure,
    http: { status: response.status, message }
  })
})

const post = Effect.fnUntraced(function* (endpoint: RpcEndpoint, body: unknown) {
  const request = HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(endpoint.url), body)
  const response = yield* Effect.mapError(endpoint.client.execute(request), (error) =>
    unanswered(requestFailure(error))
  )
  if (response.status !== 200) return yield* yield* failedStatus(endpoint, response)
  const text = yield* Effect.mapError(response.text, (error) => unanswered(bodyFailure(error)))
  return { json: yield* parse(text), retryAfter: yield* retryAfterOf(response) }
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
  return error?._tag === "RpcError" && isRateLimit(endpoint, error)
    ? unanswered(limitedFailure(`JSON-RPC error ${error.code}`, retryAfter ?? pauseOf(error)))
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

// How large a batch of calls one URL takes. What it refused is remembered, and a larger batch is tried again after a while.

/** Calls in one HTTP request: providers limit them, and 50 receipts stay within the limit of a response. */
export const maxCalls = 50

/** UTF-16 code units of the parameters in one HTTP request: half of what stellar-rpc takes by default (512 KiB). */
const maxLength = 262_144

/** A request shorter than this is never refused for its length: the smallest limit of a known node is 128 KiB. */
const shortLength = 65_536

/** Milliseconds after a refusal until a larger batch is tried. It doubles with each try that is refused, up to `longestWait`. */
const firstWait = 30_000

const longestWait = 1_800_000

export interface BatchSize {
  /** Calls in a batch that the URL takes, as far as it is known. */
  readonly calls: () => number
  /** Splits calls into batches, in their order. `most`: calls in a batch. Absent: what the URL takes, or one try with more. */
  pack<A extends RpcCall>(calls: ReadonlyArray<A>, now: number, most?: number): ReadonlyArray<ReadonlyArray<A>>
  /** The URL has answered each call of a batch. */
  took(calls: ReadonlyArray<RpcCall>, now: number): void
  /** The URL has refused a batch, or answered only `answered` of its calls. */
  refused(calls: ReadonlyArray<RpcCall>, now: number, answered?: number): void
  /** Whether the URL has ever answered this method. */
  knows(method: string): boolean
}

const lengthOf = ({ params }: RpcCall): number => (params === undefined ? 0 : JSON.stringify(params).length)

const totalOf = (calls: ReadonlyArray<RpcCall>): number => calls.reduce((sum, call) => sum + lengthOf(call), 0)

/** `declared`: calls in a batch that the provider is known to take. Times are of the monotonic clock, in milliseconds. */
export const makeBatchSize = (declared = maxCalls): BatchSize => {
  const methods = new Set<string>()
  let calls = Math.max(1, Math.min(declared, maxCalls))
  /** The smallest batch that was refused since `calls` are taken. */
  let tooMany: number | undefined = declared < maxCalls ? declared + 1 : undefined
  let length = maxLength
  let largestTaken = 0
  let wait = tooMany === undefined ? firstWait : longestWait
  let growAt: number | undefined

  /** Between what was taken and what was refused, or twice as many. */
  const larger = () =>
    Math.min(maxCalls, tooMany === undefined ? 2 * calls : Math.max(calls + 1, Math.floor((calls + tooMany) / 2)))

  /** One caller at a time tries a larger batch. */
  const next = (count: number, now: number): number => {
    if (count <= calls && length === maxLength) return calls
    growAt ??= now + wait
    if (now < growAt) return calls
    growAt = now + wait
    length = maxLength
    return calls < maxCalls && count > calls ? larger() : calls
  }

  const pack: BatchSize["pack"] = (given, now, most) => {
    const limit = most ?? next(given.length, now)
    const packed: Array<Array<(typeof given)[number]>> = []
    let filled = 0
    let isFirst = true
    for (const call of given) {
      const own = lengthOf(call)
      const last = packed.at(-1)
      // Only the first batch is larger than what the URL is known to take.
      const room = isFirst ? limit : Math.min(limit, calls)
      if (last !== undefined && last.length < room && filled + own <= length) {
        last.push(call)
        filled += own
        continue
      }
      isFirst = last === undefined
      packed.push([call])
      filled = own
    }
    return packed
  }

  return {
    calls: () => calls,
    pack,
    took: (given, now) => {
      const count = given.length
      largestTaken = Math.max(largestTaken, count)
      for (const { method } of given) methods.add(method)
      if (count <= calls) return
      calls = count
      if (tooMany !== undefined && count >= tooMany) tooMany = undefined
      wait = firstWait
      growAt = now + wait
    },
    refused: (given, now, answered = 0) => {
      const count = given.length
      if (count < 2) return
      const isForLength = count <= largestTaken && totalOf(given) >= shortLength
      if (isForLength) length = Math.min(length, Math.floor(totalOf(given) / 2))
      else if (count > calls) wait = Math.min(2 * wait, longestWait)
      else calls = Math.max(1, Math.min(Math.floor(count / 2), answered === 0 ? count : answered))
      if (!isForLength) {
        tooMany = Math.min(count, tooMany ?? count)
        largestTaken = Math.min(largestTaken, count - 1)
      }
      growAt = now + wait
    },
    knows: (method) => methods.has(method)
  }
}
