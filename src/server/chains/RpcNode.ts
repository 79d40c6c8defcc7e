// One provider of a chain, with its circuit breaker, time limit, retries and metrics. Calls that are made at the same time
// travel in one JSON-RPC batch, so that their answers are from nearly the same moment.
import {
  Array,
  Duration,
  Effect,
  Exit,
  Metric,
  Option,
  Random,
  Request,
  RequestResolver,
  Result,
  Schedule,
  Schema
} from "effect"
import type { BreakerState, CheckCode } from "../../domain/chain/ChainSnapshot.ts"
import type { NetworkType } from "../../domain/network/NetworkId.ts"
import type { UrlBreaker } from "./Breakers.ts"
import { rpcCallSeconds, rpcCallsTotal, rpcFailuresTotal } from "./ChainMetrics.ts"
import * as RpcFailure from "./RpcFailure.ts"
import { mayRefuseBatches, sendBatch, sendOne, Unanswered } from "./RpcBatch.ts"
import type { RpcAnswer, RpcCall, RpcEndpoint } from "./RpcBatch.ts"

/** Calls in one HTTP request: providers limit them, and 50 receipts stay within the limit of a response. */
const maxBatch = 50

/** Single calls at the same time to a node that takes no batches. */
const maxSingle = 4

/** A call with the type of its result. */
export interface TypedCall<A> extends RpcCall {
  readonly result: Schema.ConstraintDecoder<A>
}

export interface RpcNode {
  readonly url: string
  /** Fails if the node does not answer with a result of this type. */
  call<A>(call: TypedCall<A>): Effect.Effect<A, RpcFailure.RpcFailure>
  /** The answer as it is, an error of the node included. */
  ask(call: RpcCall): Effect.Effect<RpcAnswer, RpcFailure.RpcFailure>
  /**
   * For a call that changes something: it is tried once, and no error that the node answers counts as a failure of the node.
   * Several at the same time keep their order.
   */
  send(call: RpcCall): Effect.Effect<RpcAnswer, Unanswered>
  readonly breaker: Effect.Effect<BreakerState>
}

/** What differs between the nodes of network types. */
export interface RpcDialect extends Pick<RpcEndpoint, "isAnswer"> {
  readonly networkType: NetworkType
  /** What JSON-RPC errors mean that say nothing about the call. The others are answers of a provider that works. */
  readonly codes: Readonly<Record<number, CheckCode>>
}

/** The retry rule: it is the same for each call to a URL, for whatever purpose. */
export interface RetryOptions {
  /** The largest number of tries of a call. */
  readonly attempts: number
  /** The time limit of one try, in milliseconds. A try that it has ended is not repeated. */
  readonly timeoutMs: number
  /** The upper bound of the first random wait, in milliseconds. It doubles with each wait. */
  readonly backOffMs: number
  /** The upper bound of all waits, in milliseconds. If `Retry-After` asks for more, there is no further try. */
  readonly longestWaitMs: number
}

export interface NodeOptions extends Omit<RpcEndpoint, "isAnswer"> {
  readonly dialect: RpcDialect
  readonly breaker: UrlBreaker
  readonly retry: RetryOptions
  /** URLs of nodes that take no batches. The node adds itself. */
  readonly withoutBatches: Set<string>
}

interface NodeRequest extends RpcCall, Request.Request<RpcAnswer, Unanswered> {
  /** Whether an error of the node may be one of `codes`. */
  readonly isTyped: boolean
}
const NodeRequest = Request.of<NodeRequest>()

const waitsOf = ({ backOffMs, longestWaitMs }: RetryOptions) =>
  Schedule.exponential(backOffMs).pipe(
    Schedule.setInputType<Unanswered>(),
    Schedule.modifyDelay(({ duration, input: { failure } }) =>
      failure.retryAfter === undefined
        ? Effect.map(Random.next, (random) => random * Math.min(Duration.toMillis(duration), longestWaitMs))
        : Effect.succeed(failure.retryAfter)
    )
  )

const isWorthIt =
  ({ longestWaitMs }: RetryOptions) =>
  ({ failure: { isRetriable, retryAfter }, isTimeout = false }: Unanswered) =>
    isRetriable && !isTimeout && (retryAfter === undefined || Duration.toMillis(retryAfter) <= longestWaitMs)

type Labels = { readonly network_type: NetworkType; readonly method: string }

const countFailure = (labels: Labels, code: CheckCode) =>
  Metric.update(Metric.withAttributes(rpcFailuresTotal, { ...labels, class: code }), 1)

const count = Effect.fnUntraced(function* (
  labels: Labels,
  duration: Duration.Duration,
  result: Result.Result<unknown, Unanswered>
) {
  yield* Metric.update(Metric.withAttributes(rpcCallsTotal, labels), 1)
  yield* Metric.update(Metric.withAttributes(rpcCallSeconds, labels), Duration.toSeconds(duration))
  if (Result.isFailure(result)) yield* countFailure(labels, result.failure.failure.code)
})

export const make = ({ breaker, client, dialect, retry, url, withoutBatches }: NodeOptions): RpcNode => {
  const endpoint = { client, url, isAnswer: dialect.isAnswer }
  const waits = waitsOf(retry)
  const labelsOf = ({ method }: RpcCall): Labels => ({ network_type: dialect.networkType, method })
  let lastId = 0

  const failureOf = (answer: Exclude<RpcAnswer, { readonly _tag: "Result" }>) => {
    if (answer._tag === "Missing") return RpcFailure.failure("invalid_answer")
    const code = dialect.codes[answer.code]
    const detail = `JSON-RPC error ${answer.code}`
    return code === undefined ? RpcFailure.answered("refused", detail) : RpcFailure.failure(code, detail)
  }

  /** Fails if every call got an error that only says that the provider has too much to do, or lags behind. */
  const heard = (requests: ReadonlyArray<NodeRequest>, answers: ReadonlyArray<RpcAnswer>) => {
    const failures = requests.flatMap(({ isTyped }, index) => {
      const answer = answers[index]
      const failure = isTyped && answer?._tag === "RpcError" ? failureOf(answer) : undefined
      return failure === undefined || failure.answered ? [] : [failure]
    })
    const [failure] = failures
    return failure !== undefined && failures.length === requests.length
      ? Effect.fail(new Unanswered({ failure }))
      : Effect.succeed(answers)
  }

  /** One HTTP request. Each call in it counts. */
  const counted = (requests: ReadonlyArray<NodeRequest>, self: Effect.Effect<ReadonlyArray<RpcAnswer>, Unanswered>) => {
    const failure = RpcFailure.failure("unreachable", `no answer within ${retry.timeoutMs} ms`)
    const late = Effect.fail(new Unanswered({ failure, isTimeout: true }))
    const methods = new Set(requests.map(({ method }) => method))
    return Effect.flatMap(self, (answers) => heard(requests, answers)).pipe(
      Effect.timeoutOrElse({ duration: retry.timeoutMs, orElse: () => late }),
      Effect.result,
      Effect.timed,
      Effect.tap(([duration, result]) =>
        Effect.forEach(requests, (request) => count(labelsOf(request), duration, result), { discard: true })
      ),
      Effect.flatMap(([, result]) => Effect.fromResult(result)),
      // For the span of the HTTP request. A span here would end with texts of the provider.
      Effect.annotateSpans({ network_type: dialect.networkType, method: [...methods].join() })
    )
  }

  const oneByOne = Effect.fnUntraced(function* (requests: ReadonlyArray<NodeRequest>) {
    const one = (request: NodeRequest) => counted([request], Effect.map(sendOne(endpoint, request, ++lastId), Array.of))
    return (yield* Effect.forEach(requests, one, { concurrency: maxSingle })).flat()
  })

  const exchange = (requests: ReadonlyArray<NodeRequest>): Effect.Effect<ReadonlyArray<RpcAnswer>, Unanswered> => {
    if (requests.length === 1 || withoutBatches.has(url)) return oneByOne(requests)
    const firstId = lastId + 1
    lastId += requests.length
    return counted(requests, sendBatch(endpoint, requests, firstId)).pipe(
      Effect.catchIf(mayRefuseBatches, () =>
        Effect.tap(oneByOne(requests), () => Effect.sync(() => withoutBatches.add(url)))
      )
    )
  }

  const several = (requests: ReadonlyArray<NodeRequest>) =>
    Effect.retry(exchange(requests), { schedule: waits, times: retry.attempts - 1, while: isWorthIt(retry) })

  /**
   * The breaker learns whether the provider answers. A provider whose breaker is not closed gets a single try: a caller
   * without a better provider still gets an answer. A provider that asked for a pause gets no try before the pause ends.
   */
  const guarded = Effect.fnUntraced(function* (requests: ReadonlyArray<NodeRequest>, run: typeof exchange) {
    const state = yield* breaker.state
    if (state !== "open") {
      const found = yield* breaker.run(state === "closed" ? run(requests) : exchange(requests))
      if (Option.isSome(found)) return found.value
    }
    if (yield* breaker.isLimited) return yield* new Unanswered({ failure: RpcFailure.failure("rate_limited") })
    return yield* breaker.insist(exchange(requests))
  })

  const resolverOf = (run: typeof exchange) =>
    RequestResolver.make<NodeRequest>((entries) =>
      Effect.map(
        guarded(
          entries.map(({ request }) => request),
          run
        ),
        (answers) => {
          for (const [index, entry] of entries.entries()) {
            entry.completeUnsafe(Exit.succeed(answers[index] ?? { _tag: "Missing" }))
          }
        }
      )
    ).pipe(RequestResolver.batchN(maxBatch))

  const reads = resolverOf(several)
  const sends = resolverOf(exchange)

  const read = (call: RpcCall, isTyped: boolean) =>
    Effect.mapError(Effect.request(NodeRequest({ ...call, isTyped }), reads), ({ failure }) => failure.of(call.method))

  const resultOf = <A>({ method, result }: TypedCall<A>, answer: RpcAnswer) => {
    const decoded =
      answer._tag === "Result"
        ? Effect.mapError(Schema.decodeUnknownEffect(result)(answer.value), () => RpcFailure.failure("invalid_answer"))
        : Effect.fail(failureOf(answer))
    return Effect.mapError(decoded, (failure) => failure.of(method))
  }

  const call: RpcNode["call"] = (call) =>
    Effect.flatMap(read(call, true), (answer) =>
      Effect.tapError(resultOf(call, answer), ({ code }) => countFailure(labelsOf(call), code))
    )

  return {
    url,
    call,
    ask: (call) => read(call, false),
    send: (call) => Effect.request(NodeRequest({ ...call, isTyped: false }), sends),
    breaker: breaker.state
  }
}
