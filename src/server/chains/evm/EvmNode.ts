// One provider of an evm chain. Calls that are made at the same time travel in one JSON-RPC batch, so that their answers
// are from nearly the same moment.
import { Duration, Effect, Exit, Metric, Request, RequestResolver, Schema } from "effect"
import type { HttpClient } from "effect/http"
import type { NodeAnswer } from "../../../domain/transaction/Refusal.ts"
import type { Breakers } from "../Breakers.ts"
import { rpcCallSeconds, rpcCallsTotal, rpcFailuresTotal } from "../ChainMetrics.ts"
import * as RpcFailure from "../RpcFailure.ts"
import { mayRefuseBatches, sendBatch, sendOne, Unanswered } from "./RpcBatch.ts"
import type { RpcAnswer, RpcCall } from "./RpcBatch.ts"

/** Milliseconds of one HTTP request. */
const requestTimeout = 5000

/** Calls in one HTTP request: providers limit them, and 50 receipts stay within the limit of a response. */
const maxBatch = 50

/** A call with the type of its result. */
export interface EvmCall<A> extends RpcCall {
  readonly result: Schema.ConstraintDecoder<A>
}

export interface EvmNode {
  readonly url: string
  /** Fails if the node does not answer with a result of this type. */
  call<A>(call: EvmCall<A>): Effect.Effect<A, RpcFailure.RpcFailure>
  /** The answer as it is, an error of the node included. */
  ask(call: RpcCall): Effect.Effect<RpcAnswer, RpcFailure.RpcFailure>
  /** Sends a signed transaction; several at the same time keep their order. Nothing that a node says about it counts as a failure of the node. */
  send(raw: string): Effect.Effect<NodeAnswer>
}

export interface Ways {
  readonly client: HttpClient.HttpClient
  readonly breakers: Breakers["Service"]
  /** URLs of nodes that take no batches. The node adds itself. */
  readonly withoutBatches: Set<string>
}

interface Ask extends RpcCall, Request.Request<RpcAnswer, Unanswered> {}
const Ask = Request.of<Ask>()

const timedOut = () =>
  new Unanswered({ failure: RpcFailure.failure("unreachable", `no answer within ${requestTimeout} ms`) })

/** Each call of a batch counts. */
const count = Effect.fnUntraced(function* (
  calls: ReadonlyArray<RpcCall>,
  duration: Duration.Duration,
  exit: Exit.Exit<unknown, Unanswered>
) {
  for (const { method } of calls) {
    const labels = { network_type: "evm", method }
    yield* Metric.update(Metric.withAttributes(rpcCallsTotal, labels), 1)
    yield* Metric.update(Metric.withAttributes(rpcCallSeconds, labels), Duration.toSeconds(duration))
    if (Exit.isSuccess(exit)) continue
    const failed = Exit.findErrorOption(exit)
    const code = failed._tag === "Some" ? failed.value.failure.code : "unreachable"
    yield* Metric.update(Metric.withAttributes(rpcFailuresTotal, { ...labels, class: code }), 1)
  }
})

const counted = <A>(calls: ReadonlyArray<RpcCall>, self: Effect.Effect<A, Unanswered>) =>
  self.pipe(
    Effect.timeoutOrElse({ duration: requestTimeout, orElse: () => Effect.fail(timedOut()) }),
    Effect.exit,
    Effect.timed,
    Effect.tap(([duration, exit]) => count(calls, duration, exit)),
    Effect.flatMap(([, exit]) => exit)
  )

const toNodeAnswer = (answer: RpcAnswer): NodeAnswer => {
  if (answer._tag === "Result") return { _tag: "Hash" }
  return answer._tag === "Missing" ? { _tag: "NoAnswer" } : answer
}

const ofUnanswered = ({ http }: Unanswered): NodeAnswer =>
  http === undefined ? { _tag: "NoAnswer" } : { _tag: "HttpError", ...http }

/** An error that only says that the provider is overloaded. */
const toFailure = (answer: Exclude<RpcAnswer, { readonly _tag: "Result" }>) =>
  answer._tag === "Missing" ? RpcFailure.failure("invalid_answer") : RpcFailure.ofError("evm", answer.code)

export const make = ({ client, breakers, withoutBatches }: Ways, url: string): EvmNode => {
  const one = (call: RpcCall) => counted([call], sendOne(client, url, call))

  const oneByOne = (calls: ReadonlyArray<RpcCall>) => Effect.forEach(calls, one, { concurrency: 4 })

  const exchange = (calls: ReadonlyArray<RpcCall>): Effect.Effect<ReadonlyArray<RpcAnswer>, Unanswered> => {
    if (calls.length === 1 || withoutBatches.has(url)) return oneByOne(calls)
    return counted(calls, sendBatch(client, url, calls)).pipe(
      Effect.catchIf(mayRefuseBatches, () =>
        Effect.tap(oneByOne(calls), () => Effect.sync(() => withoutBatches.add(url)))
      )
    )
  }

  /** The breaker only learns whether the provider answers. While it is open, a provider that set no time is still asked. */
  const guarded = Effect.fnUntraced(function* <A>(self: Effect.Effect<A, Unanswered>) {
    let last: Unanswered | undefined
    const watched = Effect.mapError(self, (error) => {
      last = error
      return error.failure
    })
    const restored = (failure: RpcFailure.RpcFailure) => last ?? new Unanswered({ failure })
    if ((yield* breakers.state(url)) === "closed") {
      const found = yield* Effect.mapError(breakers.run(url, watched), restored)
      if (found._tag === "Some") return found.value
    }
    if (yield* breakers.isLimited(url)) {
      return yield* new Unanswered({ failure: RpcFailure.failure("rate_limited") })
    }
    return yield* Effect.mapError(breakers.insist(url, watched), restored)
  })

  const resolver = RequestResolver.make<Ask>((entries) =>
    Effect.map(guarded(exchange(entries.map(({ request }) => request))), (answers) => {
      for (const [index, entry] of entries.entries()) {
        entry.completeUnsafe(Exit.succeed(answers[index] ?? { _tag: "Missing" }))
      }
    })
  ).pipe(RequestResolver.batchN(maxBatch))

  const request = ({ method, params }: RpcCall) => Effect.request(Ask({ method, params }), resolver)

  const ask: EvmNode["ask"] = (call) => Effect.mapError(request(call), ({ failure }) => failure.of(call.method))

  const resultOf = <A>(call: EvmCall<A>, answer: RpcAnswer) =>
    answer._tag === "Result"
      ? Effect.mapError(Schema.decodeUnknownEffect(call.result)(answer.value), () =>
          RpcFailure.failure("invalid_answer")
        )
      : Effect.fail(toFailure(answer))

  const call: EvmNode["call"] = (call) =>
    Effect.flatMap(ask(call), (answer) => Effect.mapError(resultOf(call, answer), (failure) => failure.of(call.method)))

  const send: EvmNode["send"] = (raw) =>
    request({ method: "eth_sendRawTransaction", params: [raw] }).pipe(
      Effect.map(toNodeAnswer),
      Effect.catchTag("Unanswered", (error) => Effect.succeed(ofUnanswered(error)))
    )

  return { url, call, ask, send }
}
