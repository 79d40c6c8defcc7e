// Limits what clients without a valid API key cost, by their address: refused requests, the endpoints that need no key, paths that do
// not exist, and preflights of browsers.
import { Clock, Context, Effect, Layer, Metric } from "effect"
import { TooManyRequests } from "../../domain/access/Caller.ts"
import type { Unauthorized } from "../../domain/access/Caller.ts"
import * as ClientAddress from "../responses/ClientAddress.ts"
import * as AddressLimit from "./AddressLimit.ts"
import { rateLimitedRequestsTotal, strangersRefusedTotal } from "./RateLimitMetrics.ts"

/** Refusals with 401. A client with a wrong key sends a few of them; others try keys. */
const refusals: AddressLimit.Options = { burst: 200, perSecond: 20 }

/** Requests of documents and metrics: the largest document has 600 kB. */
const openRequests: AddressLimit.Options = { burst: 100, perSecond: 10 }

/** Requests outside of `/api` that match no route. A browser sends a few of them, such as for its icon. */
const unmatchedRequests: AddressLimit.Options = { burst: 200, perSecond: 20 }

/** A browser sends one before its first request of each path, and remembers the answer. Browsers behind a proxy share its address. */
const preflights: AddressLimit.Options = { burst: 500, perSecond: 100 }

/** Seconds. A token is there again sooner. */
const retryAfter = 1

export class Strangers extends Context.Service<
  Strangers,
  {
    /** The refusal of the current request: `Unauthorized`, or `TooManyRequests` beyond the limit of its address. */
    refuse(refusal: Unauthorized): Effect.Effect<never, Unauthorized | TooManyRequests>
    /** Whether the address had too many refusals. Its unknown keys are then refused without a lookup. */
    isBlocked(address: string | undefined): boolean
    /** Passed by each request of an open endpoint, except health and readiness. */
    readonly admit: Effect.Effect<void, TooManyRequests>
    /** Passed by each request outside of `/api` that matches no route. */
    readonly admitUnmatched: Effect.Effect<void, TooManyRequests>
    /** Passed by each preflight of a browser. */
    readonly admitPreflight: Effect.Effect<void, TooManyRequests>
  }
>()("effect-relayer/server/limits/Strangers") {
  static readonly layer = Layer.effect(
    Strangers,
    Effect.map(Clock.Clock, (clock) => {
      const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
      const refused = AddressLimit.make(refusals, now)
      const tooMany = Effect.andThen(
        Effect.all([Metric.update(strangersRefusedTotal, 1), Metric.update(rateLimitedRequestsTotal, 1)]),
        Effect.fail(new TooManyRequests({ retryAfter }))
      )

      const admitting = (options: AddressLimit.Options) => {
        const { take } = AddressLimit.make(options, now)
        return Effect.flatMap(ClientAddress.current, (address) => (take(address) ? Effect.void : tooMany))
      }

      return Strangers.of({
        refuse: (refusal) =>
          Effect.flatMap(ClientAddress.current, (address): Effect.Effect<never, Unauthorized | TooManyRequests> =>
            refused.take(address) ? Effect.fail(refusal) : tooMany
          ),
        isBlocked: (address) => refused.isEmpty(address),
        admit: admitting(openRequests),
        admitUnmatched: admitting(unmatchedRequests),
        admitPreflight: admitting(preflights)
      })
    })
  )
}
