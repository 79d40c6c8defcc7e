// One provider of a chain, with its circuit breaker, time limit, retries and metrics. Calls that are made at the same time travel in one
// JSON-RPC batch if the provider takes it, so that their answers are from nearly the same moment.
import {
  Clock,
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
import { rpcCallSeconds, rpcCallsTotal, rpcFailuresTotal } from "./Breakers.ts"
import type { UrlBreaker } from "./Breakers.ts"
import { maxCalls, sendBatch, sendOne, Unanswered } from "./RpcBatch.ts"
import type { BatchSize, RpcAnswer, RpcCall, RpcEndpoint } from "./RpcBatch.ts"
import {
  answeredFailure,
  isRateLimit,
  limitedFailure,
  longestPause,
  pauseOf,
  RpcFailure,
  rpcFailure
} from "./RpcFailure.ts"

// Asks one URL several calls in as many HTTP requests as its provider needs. What it refuses, cuts off or answers by half is asked again
// in smaller batches, down to single calls. A URL that is dead gets one more request than a batch: a single call decides which it is.

/** HTTP requests to one URL at the same time, for the calls of one moment. */
const maxAtOnce = 4

/** Single calls that the provider drops before the rest of them counts as unanswered. */
const maxDropped = 3

/** Rounds for calls that the provider has put off because of a rate limit. */
const maxRounds = 8

interface AskedCall extends RpcCall {
  /**
   * `typed`: an error may be one of the codes of the dialect, which say nothing about the call. `raw`: the caller judges errors, except
   * those of a rate limit. `sent`: the call changes something, and each error to it alone is an answer.
   */
  readonly kind: "typed" | "raw" | "sent"
}

type Outcome = Result.Result<RpcAnswer, Unanswered>

interface ExchangeOptions<A extends AskedCall> {
  readonly dialect: Pick<RpcEndpoint, "codes" | "isAnswer">
  readonly size: BatchSize
  /** One HTTP request. Undefined: it does not answer this call. */
  readonly post: (calls: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<RpcAnswer | undefined>, Unanswered>
  /** Milliseconds before the next try. Undefined: it is not worth waiting for. */
  readonly delay: (failure: RpcFailure, round: number) => Effect.Effect<number | undefined>
  /** A call was not answered, although the HTTP request was. */
  readonly onUnheard: (call: A, code: CheckCode) => Effect.Effect<void>
}

type RpcError = Extract<RpcAnswer, { readonly _tag: "RpcError" }>

/** What nodes say about a batch in the error of one of its calls: geth, Besu, Erigon, reth, drpc. */
const batchWords = /\bbatch|response too large/i

/** The calls of the service are valid, so that a node which finds one invalid means the batch. */
const invalidRequest = -32_600

/** `answer`: it is one. `failed`: an answer that says nothing about the call. `smaller`: the batch was too large. `later`: a rate limit. */
type Judgement = "answer" | "failed" | "smaller" | "later"

const judgeOne = ({ dialect }: { readonly dialect: ExchangeOptions<AskedCall>["dialect"] }) => {
  return ({ kind }: AskedCall, answer: RpcError, isAlone: boolean): Judgement => {
    const code = dialect.codes[answer.code]
    if (isAlone && kind === "sent") return "answer"
    if (!isAlone && (answer.code === invalidRequest || batchWords.test(answer.message))) return "smaller"
    if (isRateLimit(dialect, answer)) return "later"
    if (isAlone) return kind === "typed" && code !== undefined ? "failed" : "answer"
    if (code === "rate_limited") return "later"
    return kind === "typed" && code !== undefined ? "smaller" : "answer"
  }
}

/** Why an error is no answer to the call. */
const failureOf = ({ codes }: Pick<RpcEndpoint, "codes">, { code }: RpcError): RpcFailure => {
  const known = codes[code]
  const detail = `JSON-RPC error ${code}`
  const failure = known === undefined ? answeredFailure("refused", detail) : rpcFailure(known, detail)
  return new RpcFailure({ ...failure, rpcCode: code })
}

/** The outbound guard has refused the URL, so that nothing was sent. */
const isForbidden = ({ failure, http }: Unanswered) => failure.code === "refused" && http === undefined

/**
 * One outcome per call, in their order. Fails if no call got an answer, and the provider does not work.
 *
 * Calls that send signed bytes are asked again like all others, although the provider may have taken them from the batch that it refused:
 * the same bytes have the same nonce, sequence or blockhash, so that a chain includes them once, however often and by whomever they are
 * sent. A node that has them already says so, or says that their nonce is used, which is never a reason to fail.
 */
const makeExchange = <A extends AskedCall>(options: ExchangeOptions<A>) => {
  const { delay, dialect, onUnheard, post, size } = options
  const judge = judgeOne(options)
  const now = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

  return Effect.fnUntraced(function* (calls: ReadonlyArray<A>) {
    const outcomes = new Map<A, Outcome>()
    let later: Array<A> = []
    let isAlive = false
    let isProbed = false
    let dropped = 0
    /** Why nothing more is asked in this round. */
    let limit: Unanswered | undefined
    /** Why nothing more is asked at all. */
    let ended: Unanswered | undefined

    /** Puts calls off. Of several reasons, the one with the longest pause counts. */
    const putOff = (given: ReadonlyArray<A>, error: Unanswered) => {
      const longest = longestPause([error.failure, ...(limit === undefined ? [] : [limit.failure])])
      if (limit === undefined || longest === error.failure) limit = error
      later.push(...given)
    }

    const fail = (given: ReadonlyArray<A>, error: Unanswered) => {
      for (const call of given) outcomes.set(call, Result.fail(error))
    }

    const failAlone = (call: A, error: Unanswered) => {
      fail([call], error)
      if (error.failure.answered) isAlive = true
      else if (!isAlive || error.isTimeout === true) ended = error
      else if (error.http === undefined && error.failure.code === "unreachable" && ++dropped >= maxDropped)
        ended = error
    }

    const heard = Effect.fnUntraced(function* (given: ReadonlyArray<A>, answers: ReadonlyArray<RpcAnswer | undefined>) {
      const isAlone = given.length === 1
      const again: Array<A> = []
      let pausing = 0
      for (const [index, call] of given.entries()) {
        const answer = answers[index]
        const judgement =
          answer === undefined ? "smaller" : answer._tag === "Result" ? "answer" : judge(call, answer, isAlone)
        if (answer !== undefined && judgement === "answer") {
          outcomes.set(call, Result.succeed(answer))
          isAlive = true
          continue
        }
        const failure = answer?._tag === "RpcError" ? failureOf(dialect, answer) : rpcFailure("invalid_answer")
        yield* onUnheard(call, judgement === "later" ? "rate_limited" : failure.code)
        if (judgement === "failed") failAlone(call, new Unanswered({ failure }))
        else if (judgement === "smaller") again.push(call)
        else {
          const pause = answer?._tag === "RpcError" ? (answer.retryAfter ?? pauseOf(answer)) : undefined
          putOff([call], new Unanswered({ failure: limitedFailure(failure.detail, pause) }))
          pausing += 1
        }
      }
      const lacking = again.length + pausing
      const at = yield* now
      if (lacking === 0) size.took(given, at)
      else size.refused(given, at, given.length - lacking)
      return again
    })

    /** Asks calls that the provider did not answer together. A single call decides whether it was the batch, or the URL. */
    const askSmaller = Effect.fnUntraced(function* (
      given: ReadonlyArray<A>,
      of: number,
      error: Unanswered
    ): Effect.fn.Return<void> {
      let rest = given
      if (!isAlive) {
        const pause = error.failure.isRetriable ? yield* delay(error.failure, 0) : 0
        if (pause === undefined) {
          ended = error
          return fail(given, error)
        }
        if (pause > 0) yield* Effect.sleep(pause)
        isProbed = true
        const probe = rest.find(({ method }) => size.knows(method)) ?? rest[0]
        rest = rest.filter((call) => call !== probe)
        if (probe !== undefined) yield* settle([probe])
      }
      const most = Math.max(1, Math.min(size.calls(), Math.floor(of / 2)))
      for (const part of size.pack(rest, yield* now, most)) yield* settle(part)
    })

    const settle = Effect.fnUntraced(function* (given: ReadonlyArray<A>): Effect.fn.Return<void> {
      if (ended !== undefined) return fail(given, ended)
      if (limit !== undefined) return void later.push(...given)
      const [first] = given
      const result = yield* Effect.result(post(given))
      if (Result.isSuccess(result)) {
        const again = yield* heard(given, result.success)
        const error = new Unanswered({ failure: rpcFailure("invalid_answer") })
        return again.length === 0 ? undefined : yield* askSmaller(again, given.length, error)
      }
      const error = result.failure
      // A provider that works, and asks for a pause: a smaller batch in that time would be refused, too.
      const isPause = error.failure.code === "rate_limited" || (isAlive && error.failure.retryAfter !== undefined)
      if (isPause) {
        size.refused(given, yield* now)
        return putOff(given, error)
      }
      if (given.length === 1 && first !== undefined) return failAlone(first, error)
      const isLate = error.isTimeout === true
      // After a batch that was not answered in time, single calls are asked next. The time that a second try would take now is better
      // used for the next provider.
      if (!isForbidden(error)) size.refused(given, yield* now, isLate ? 1 : 0)
      if (isForbidden(error) || isLate) ended = error
      return ended === undefined ? yield* askSmaller(given, given.length, error) : fail(given, ended)
    })

    /** A single call that is asked first decides about the URL: it is one that the URL has answered before. */
    const ledByKnown = (given: ReadonlyArray<A>) => {
      const lead = size.calls() === 1 ? given.find(({ method }) => size.knows(method)) : undefined
      return lead === undefined ? given : [lead, ...given.filter((call) => call !== lead)]
    }

    const limitNow = (): Unanswered | undefined => limit

    let todo = calls
    for (let round = 0; todo.length > 0; round++) {
      const known = outcomes.size
      const [first = [], ...others] = size.pack(ledByKnown(todo), yield* now)
      yield* settle(first)
      yield* Effect.forEach(others, settle, { concurrency: maxAtOnce, discard: true })
      const error = limitNow()
      if (error === undefined) break
      const pause = outcomes.size > known && round < maxRounds ? yield* delay(error.failure, round) : undefined
      if (pause === undefined) {
        fail(later, error)
        break
      }
      if (pause > 0) yield* Effect.sleep(pause)
      const left = new Set(later)
      todo = calls.filter((call) => left.has(call))
      later = []
      limit = undefined
    }

    const all = calls.map(
      (call): Outcome => outcomes.get(call) ?? Result.fail(new Unanswered({ failure: rpcFailure("invalid_answer") }))
    )
    const failures = all.flatMap((outcome) => (Result.isFailure(outcome) ? [outcome.failure] : []))
    const [failure] = failures
    return failure === undefined || failures.length < all.length || failures.some((one) => one.failure.answered)
      ? all
      : yield* new Unanswered({ ...failure, isRepeated: isProbed })
  })
}

/** A call with the type of its result. */
export interface TypedCall<A> extends RpcCall {
  readonly result: Schema.ConstraintDecoder<A>
}

export interface RpcNode {
  readonly url: string
  /** Fails if the node does not answer with a result of this type. */
  call<A>(call: TypedCall<A>): Effect.Effect<A, RpcFailure>
  /** The answer as it is, an error of the node included. */
  ask(call: RpcCall): Effect.Effect<RpcAnswer, RpcFailure>
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
  readonly size: BatchSize
}

interface NodeRequest extends AskedCall, Request.Request<RpcAnswer, Unanswered> {}
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
  ({ retryAfter }: RpcFailure, round: number): Effect.Effect<number | undefined> => {
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
    const failure = rpcFailure("unreachable", `no answer within ${retry.timeoutMs} ms`)
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

  const exchange = makeExchange<NodeRequest>({
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
    if (yield* breaker.isLimited) return yield* new Unanswered({ failure: rpcFailure("rate_limited") })
    return yield* breaker.insist(exchange(requests))
  })

  /** A part of the calls may be put off for longer than they wait for. The URL gets no others in that time. */
  const guarded = Effect.fnUntraced(function* (requests: ReadonlyArray<NodeRequest>, run: typeof exchange) {
    const outcomes = yield* asked(requests, run)
    const failures = outcomes.flatMap((outcome) => (Result.isFailure(outcome) ? [outcome.failure.failure] : []))
    const longest = longestPause(failures)
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
    ).pipe(RequestResolver.batchN(maxCalls))

  const reads = resolverOf(several)
  const sends = resolverOf(exchange)

  const read = (call: RpcCall, kind: "typed" | "raw") =>
    Effect.mapError(Effect.request(NodeRequest({ ...call, kind }), reads), ({ failure }) => failure.of(call.method))

  const resultOf = <A>({ method, result }: TypedCall<A>, answer: RpcAnswer) => {
    const decoded =
      answer._tag === "Result"
        ? Effect.mapError(Schema.decodeUnknownEffect(result)(answer.value), () => rpcFailure("invalid_answer"))
        : Effect.fail(failureOf(dialect, answer))
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
