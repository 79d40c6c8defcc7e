// Calls one provider, with retries. Each try has a time limit and is counted in the metrics.
import { Duration, Effect, Metric, Random, Result, Schedule } from "effect"
import type { HttpClient } from "effect/http"
import type { NetworkType } from "../../domain/network/NetworkId.ts"
import { rpcCallSeconds, rpcCallsTotal, rpcFailuresTotal } from "./ChainMetrics.ts"
import * as JsonRpc from "./JsonRpc.ts"
import { failure } from "./RpcFailure.ts"
import type { RpcFailure } from "./RpcFailure.ts"

export interface Options {
  /** The largest number of tries of a call at one provider. */
  readonly attempts: number
  /** The time limit of one try. */
  readonly timeoutMs: number
  /** The upper bound of the first random wait. It doubles with each wait. */
  readonly backOffMs: number
  /** The upper bound of all waits. If `Retry-After` asks for more, there is no further try. */
  readonly longestWaitMs: number
}

export interface Tries {
  once<A>(url: string, call: JsonRpc.Call<A>): Effect.Effect<A, RpcFailure>
  /** Tries up to `attempts` times. */
  several<A>(url: string, call: JsonRpc.Call<A>): Effect.Effect<A, RpcFailure>
}

const count = Effect.fnUntraced(function* <A>(
  labels: { readonly network_type: NetworkType; readonly method: string },
  duration: Duration.Duration,
  result: Result.Result<A, RpcFailure>
) {
  yield* Metric.update(Metric.withAttributes(rpcCallsTotal, labels), 1)
  yield* Metric.update(Metric.withAttributes(rpcCallSeconds, labels), Duration.toSeconds(duration))
  if (Result.isSuccess(result)) return
  yield* Metric.update(Metric.withAttributes(rpcFailuresTotal, { ...labels, class: result.failure.code }), 1)
})

export const make = (client: HttpClient.HttpClient, network_type: NetworkType, options: Options): Tries => {
  const { attempts, backOffMs, longestWaitMs, timeoutMs } = options

  const once: Tries["once"] = (url, call) => {
    const labels = { network_type, method: call.method }
    return JsonRpc.send(client, network_type, url, call).pipe(
      Effect.timeoutOrElse({
        duration: timeoutMs,
        orElse: () => Effect.fail(failure("unreachable", `no answer within ${timeoutMs} ms`))
      }),
      Effect.result,
      Effect.timed,
      Effect.tap(([duration, result]) => count(labels, duration, result)),
      Effect.flatMap(([, result]) => Effect.fromResult(result)),
      Effect.withSpan("Tries.once", { attributes: labels })
    )
  }

  const waits = Schedule.exponential(backOffMs).pipe(
    Schedule.setInputType<RpcFailure>(),
    Schedule.modifyDelay(({ duration, input: { retryAfter } }) =>
      retryAfter === undefined
        ? Effect.map(Random.next, (random) => random * Math.min(Duration.toMillis(duration), longestWaitMs))
        : Effect.succeed(retryAfter)
    )
  )

  const isWorthIt = ({ isRetriable, retryAfter }: RpcFailure) =>
    isRetriable && (retryAfter === undefined || Duration.toMillis(retryAfter) <= longestWaitMs)

  const several: Tries["several"] = (url, call) =>
    Effect.retry(once(url, call), { schedule: waits, times: attempts - 1, while: isWorthIt })

  return { once, several }
}
