// One provider of a chain, with its circuit breaker, time limit, retries and metrics. Calls that are made at the same time
// travel in one JSON-RPC batch if the provider takes it, so that their answers are from nearly the same moment.
import {
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
import type { NetworkType } from "../../domain/network/Network.ts"
import * as BatchSize from "./BatchSize.ts"
import type { UrlBreaker } from "./Breakers.ts"
import { rpcCallSeconds, rpcCallsTotal, rpcFailuresTotal } from "./ChainMetrics.ts"
import * as RpcFailure from "./RpcFailure.ts"
import { sendBatch, sendOne, Unanswered } from "./RpcBatch.ts"
import type { RpcAnswer, RpcCall, RpcEndpoint } from "./RpcBatch.ts"
import * as RpcExchange from "./RpcExchange.ts"

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
   * For a call that sends signed bytes: alone it is tried once, and no error that the node answers counts as a failure of the node.
   * Several at the same time keep their order. If their batch is not answered, they are sent again in smaller ones.
   */
  send(call: RpcCall): Effect.Effect<RpcAnswer, Unanswered>
  readonly breaker: Effect.Effect<BreakerState>
  /** Calls in a batch that the provider takes, as far as this process knows. */
  readonly batchSize: Effect.Effect<number>
}

/** What differs between the nodes of network types. */
export interface RpcDialect extends Pick<RpcEndpoint, "isAnswer" | "codes"> {
  readonly networkType: NetworkType
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

export interface NodeOptions extends Omit<RpcEndpoint, "isAnswer" | "codes"> {
  readonly dialect: RpcDialect
  readonly breaker: UrlBreaker
  readonly retry: RetryOptions
  /** All nodes of the URL share it. */
  readonly size: BatchSize.BatchSize
}

interface NodeRequest extends RpcExchange.AskedCall, Request.Request<RpcAnswer, Unanswered> {}
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
  ({ failure: { isRetriable, retryAfter }, isRepeated = false, isTimeout = false }: Unanswered) =>
    isRetriable &&
    !isTimeout &&
    !isRepeated &&
    (retryAfter === undefined || Duration.toMillis(retryAfter) <= longestWaitMs)

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

/** Before a further try within an exchange: random, so that many lanes do not ask at the same moment. */
const delayOf =
  ({ backOffMs, longestWaitMs }: RetryOptions) =>
  ({ retryAfter }: RpcFailure.RpcFailure, round: number): Effect.Effect<number | undefined> => {
    if (retryAfter === undefined) {
      return Effect.map(Random.next, (random) => random * Math.min(backOffMs * 2 ** round, longestWaitMs))
    }
    const wanted = Duration.toMillis(retryAfter)
    return Effect.succeed(wanted <= longestWaitMs ? wanted : undefined)
  }

export const make = ({ breaker, client, dialect, retry, size, url }: NodeOptions): RpcNode => {
  const endpoint = { client, url, isAnswer: dialect.isAnswer, codes: dialect.codes }
  const waits = waitsOf(retry)
  const labelsOf = ({ method }: RpcCall): Labels => ({ network_type: dialect.networkType, method })
  let lastId = 0

  /** One HTTP request. Each call in it counts. */
  const counted = <A>(requests: ReadonlyArray<NodeRequest>, self: Effect.Effect<A, Unanswered>) => {
    const failure = RpcFailure.failure("unreachable", `no answer within ${retry.timeoutMs} ms`)
    const late = Effect.fail(new Unanswered({ failure, isTimeout: true }))
    const methods = new Set(requests.map(({ method }) => method))
    return self.pipe(
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

  const post = (requests: ReadonlyArray<NodeRequest>) => {
    const [request] = requests
    const firstId = lastId + 1
    lastId += requests.length
    return request !== undefined && requests.length === 1
      ? counted(
          requests,
          Effect.map(sendOne(endpoint, request, firstId), (answer) => [answer])
        )
      : counted(requests, sendBatch(endpoint, requests, firstId))
  }

  const exchange = RpcExchange.make<NodeRequest>({
    dialect,
    size,
    post,
    delay: delayOf(retry),
    onUnheard: (request, code) => countFailure(labelsOf(request), code)
  })

  const several = (requests: ReadonlyArray<NodeRequest>) =>
    Effect.retry(exchange(requests), { schedule: waits, times: retry.attempts - 1, while: isWorthIt(retry) })

  /**
   * The breaker learns whether the provider answers. A provider whose breaker is not closed gets a single try: a caller
   * without a better provider still gets an answer. A provider that asked for a pause gets no try before the pause ends.
   */
  const asked = Effect.fnUntraced(function* (requests: ReadonlyArray<NodeRequest>, run: typeof exchange) {
    const state = yield* breaker.state
    if (state !== "open") {
      const found = yield* breaker.run(state === "closed" ? run(requests) : exchange(requests))
      if (Option.isSome(found)) return found.value
    }
    if (yield* breaker.isLimited) return yield* new Unanswered({ failure: RpcFailure.failure("rate_limited") })
    return yield* breaker.insist(exchange(requests))
  })

  /** A part of the calls may be put off for longer than they wait for. The URL gets no others in that time. */
  const guarded = Effect.fnUntraced(function* (requests: ReadonlyArray<NodeRequest>, run: typeof exchange) {
    const outcomes = yield* asked(requests, run)
    const failures = outcomes.flatMap((outcome) => (Result.isFailure(outcome) ? [outcome.failure.failure] : []))
    const longest = RpcFailure.longestPause(failures)
    if (longest !== undefined) yield* breaker.pause(longest)
    return outcomes
  })

  const resolverOf = (run: typeof exchange) =>
    RequestResolver.make<NodeRequest>((entries) =>
      Effect.map(
        guarded(
          entries.map(({ request }) => request),
          run
        ),
        (outcomes) => {
          for (const [index, entry] of entries.entries()) {
            const outcome = outcomes[index]
            if (outcome !== undefined)
              entry.completeUnsafe(
                Result.isSuccess(outcome) ? Exit.succeed(outcome.success) : Exit.fail(outcome.failure)
              )
          }
        }
      )
    ).pipe(RequestResolver.batchN(BatchSize.maxCalls))

  const reads = resolverOf(several)
  const sends = resolverOf(exchange)

  const read = (call: RpcCall, kind: "typed" | "raw") =>
    Effect.mapError(Effect.request(NodeRequest({ ...call, kind }), reads), ({ failure }) => failure.of(call.method))

  const resultOf = <A>({ method, result }: TypedCall<A>, answer: RpcAnswer) => {
    const decoded =
      answer._tag === "Result"
        ? Effect.mapError(Schema.decodeUnknownEffect(result)(answer.value), () => RpcFailure.failure("invalid_answer"))
        : Effect.fail(RpcExchange.failureOf(dialect, answer))
    return Effect.mapError(decoded, (failure) => failure.of(method))
  }

  const call: RpcNode["call"] = (call) =>
    Effect.flatMap(read(call, "typed"), (answer) =>
      Effect.tapError(resultOf(call, answer), ({ code }) => countFailure(labelsOf(call), code))
    )

  return {
    url,
    call,
    ask: (call) => read(call, "raw"),
    send: (call) => Effect.request(NodeRequest({ ...call, kind: "sent" }), sends),
    breaker: breaker.state,
    batchSize: Effect.sync(size.calls)
  }
}
