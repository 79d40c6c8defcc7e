// A token bucket per caller: in a store that instances may share, or else in the memory of this instance.
import { Clock, Context, Duration, Effect, Layer, Metric } from "effect"
import { CircuitBreaker, RateLimiter } from "effect/persistence"
import { TooManyRequests } from "../../domain/access/Caller.ts"
import { withMonotonic, withMonotonicAround } from "../lifecycle/MonotonicClock.ts"
import { rateLimitedRequestsTotal, rateLimitStoreFailuresTotal } from "./RateLimitMetrics.ts"

// Token buckets in the memory of this instance. A bucket that is full again is forgotten: an unknown key has a full one.

interface Bucket {
  readonly tokens: number
  /** Milliseconds. The current refill interval began then. */
  readonly since: number
  /** Milliseconds. The bucket is full then, if nobody uses it until then. */
  readonly fullAt: number
}

export interface TokenBuckets {
  readonly take: RateLimiter.RateLimiterStore["Service"]["tokenBucket"]
  /** The number of buckets in memory. */
  readonly count: () => number
}

export const makeTokenBuckets = (): TokenBuckets => {
  /** The bucket that was used longest ago is the first one. */
  const buckets = new Map<string, Bucket>()

  /** A bucket after the first one that is not full is forgotten later, but never later than its own time to refill. */
  const forget = (now: number) => {
    for (const [key, { fullAt }] of buckets) {
      if (fullAt > now) return
      buckets.delete(key)
    }
  }

  const take: TokenBuckets["take"] = ({ allowOverflow, key, limit, refillRate, tokens }) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      forget(now)
      const interval = Duration.toMillis(refillRate)
      const found = buckets.get(key) ?? { tokens: limit, since: now }
      const refills = Math.max(0, Math.floor((now - found.since) / interval))
      const available = Math.min(limit, found.tokens + refills)
      const since = available >= limit ? now : found.since + refills * interval
      const remaining = available - tokens
      const left = allowOverflow || remaining >= 0 ? remaining : available
      buckets.delete(key)
      buckets.set(key, { tokens: left, since, fullAt: since + (limit - left) * interval })
      return [remaining, Math.max(0, now - since)] as const
    })

  return { take, count: () => buckets.size }
}

export interface Options {
  readonly requestsPerSecond: number
  /** Requests that a caller may send at once if its bucket is full. */
  readonly burst: number
}

export interface Allowance {
  readonly limit: number
  readonly remaining: number
  /** Whole seconds until the bucket is full again. */
  readonly resetSeconds: number
}

/** The header fields of draft-ietf-httpapi-ratelimit-headers-10. */
export const rateLimitHeaders = ({ burst, requestsPerSecond }: Options) => {
  const policy = `"default";q=${burst};w=${Math.ceil(burst / requestsPerSecond)}`
  return ({ remaining, resetSeconds }: Pick<Allowance, "remaining" | "resetSeconds">) =>
    [
      ["ratelimit-policy", policy],
      ["ratelimit", `"default";r=${remaining};t=${resetSeconds}`]
    ] as const
}

/**
 * Counters in the memory of this process, by a monotonic clock: if a clock is set back, every bucket would stay empty for that
 * time. Each layer that is built has its own counters. The store of Effect would keep the bucket of every caller for ever.
 */
const layerStore = Layer.fresh(
  Layer.effect(
    RateLimiter.RateLimiterStore,
    Effect.map(RateLimiter.RateLimiterStore, (store) => {
      const { take } = makeTokenBuckets()
      return { ...store, tokenBucket: (options) => withMonotonic(take(options)) }
    })
  ).pipe(Layer.provide(RateLimiter.layerStoreMemory))
)

const wholeSeconds = (duration: Duration.Duration) => Math.max(1, Math.ceil(Duration.toSeconds(duration)))

const isExceeded = (error: { readonly _tag: string; readonly reason?: { readonly _tag: string } }): error is Exceeded =>
  error._tag === "RateLimiterError" && error.reason?._tag === "RateLimitExceeded"

type Exceeded = RateLimiter.RateLimiterError & { readonly reason: RateLimiter.RateLimitExceeded }

type Take = (caller: string) => Effect.Effect<RateLimiter.ConsumeResult, RateLimiter.RateLimiterError>

const takeFrom =
  (limiter: RateLimiter.RateLimiter, { burst, requestsPerSecond }: Options): Take =>
  (caller) =>
    limiter.consume({
      key: caller,
      limit: burst,
      window: Duration.seconds(burst / requestsPerSecond),
      algorithm: "token-bucket",
      onExceeded: "fail"
    })

/** Longest wait for a shared store: a request is worth more than an exact count. */
const storeTimeout = "250 millis"

/** A shared store that fails or is slow is left alone for a while, and `own` counts. */
const guard = (shared: Take, own: Take) =>
  Effect.gen(function* () {
    const breaker = yield* CircuitBreaker.make({
      tripPolicy: CircuitBreaker.consecutive(3),
      openDuration: "5 seconds"
    }).pipe(Effect.provide(Layer.fresh(CircuitBreaker.layerStoreMemory())))
    const take: Take = (caller) =>
      shared(caller).pipe(
        Effect.timeout(storeTimeout),
        Effect.catchIf(isExceeded, (error) => Effect.succeed(error)),
        withMonotonicAround(breaker.execute({ key: "rate-limit-store" })),
        Effect.catch(() => Effect.andThen(Metric.update(rateLimitStoreFailuresTotal, 1), own(caller))),
        Effect.filterOrFail(
          (result): result is RateLimiter.ConsumeResult => !("reason" in result),
          (result) => result as Exceeded
        )
      )
    return take
  })

const make = (options: Options, take: Take) => {
  const consume = (caller: string) =>
    take(caller).pipe(
      Effect.map((result): Allowance => ({
        limit: result.limit,
        remaining: Math.max(0, Math.floor(result.remaining)),
        resetSeconds: Math.ceil(Duration.toSeconds(result.resetAfter))
      })),
      Effect.catch((error) => {
        const retryAfter = isExceeded(error) ? error.reason.retryAfter : Duration.seconds(1)
        return Effect.andThen(
          Metric.update(rateLimitedRequestsTotal, 1),
          Effect.fail(new TooManyRequests({ retryAfter: wholeSeconds(retryAfter) }))
        )
      })
    )
  return RateLimits.of({ options, consume })
}

export class RateLimits extends Context.Service<
  RateLimits,
  {
    readonly options: Options
    /** Takes one token of `caller`'s bucket. */
    consume(caller: string): Effect.Effect<Allowance, TooManyRequests>
  }
>()("effect-relayer/server/limits/RateLimits") {
  /** Each instance counts for itself. */
  static readonly layerMemory = (options: Options) =>
    Layer.effect(
      RateLimits,
      Effect.map(RateLimiter.make, (limiter) => make(options, takeFrom(limiter, options)))
    ).pipe(Layer.provide(layerStore))

  /**
   * Instances count together in the given store. Where it fails or is slow, each counts for itself until it is back:
   * limits stay, though each instance has its own, and the API stays up.
   */
  static readonly layer = (options: Options) =>
    Layer.effect(
      RateLimits,
      Effect.gen(function* () {
        const shared = yield* RateLimiter.make
        const own = yield* Effect.provide(RateLimiter.make, layerStore)
        return make(options, yield* guard(takeFrom(shared, options), takeFrom(own, options)))
      })
    )
}
