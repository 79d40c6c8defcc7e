// Work that waits for something outside of the database: chains, webhook receivers, Vault, the decryption of keystores.
import { Context, Effect, Layer, Metric } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { TooManyRequests } from "../../domain/access/Caller.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { rateLimitedRequestsTotal } from "./RateLimitMetrics.ts"

/** Outbound work of one caller that runs at the same time in this instance. */
export const maxPerCaller = 8

/** Seconds after which a caller with too much outbound work may try again. */
const retryAfter = 1

export class OutboundWork extends Context.Service<
  OutboundWork,
  {
    /**
     * Runs the work outside of the transaction of the request, which holds no connection meanwhile. A caller with scopes has
     * at most `maxPerCaller` of them at a time; the administrator and programs have no limit.
     */
    run<A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | TooManyRequests, R>
  }
>()("effect-relayer/server/limits/OutboundWork") {
  static readonly layer = Layer.effect(
    OutboundWork,
    Effect.gen(function* () {
      const outside = yield* Transaction.outside
      const running = new Map<string, number>()

      const start = (id: string) =>
        Effect.suspend(() => {
          const count = running.get(id) ?? 0
          if (count < maxPerCaller) return Effect.sync(() => void running.set(id, count + 1))
          const refused = Effect.fail(new TooManyRequests({ retryAfter }))
          return Effect.andThen(Metric.update(rateLimitedRequestsTotal, 1), refused)
        })

      const end = (id: string) =>
        Effect.sync(() => {
          const count = (running.get(id) ?? 0) - 1
          if (count > 0) running.set(id, count)
          else running.delete(id)
        })

      const limited = <A, E, R>(id: string, work: Effect.Effect<A, E, R>) =>
        Effect.acquireUseRelease(
          start(id),
          () => work,
          () => end(id)
        )

      const run = <A, E, R>(work: Effect.Effect<A, E, R>) =>
        Effect.flatMap(Caller.current, (caller) =>
          Caller.isAdministrator(caller) ? outside(work) : limited(caller.id, outside(work))
        )

      return OutboundWork.of({ run })
    })
  )
}
