// How many requests a caller may make: by a bucket of tokens per key, and by what it has in progress.
import { Clock, Context, Duration, Effect, Layer, Metric, Semaphore } from "effect"
import type { Scope } from "effect"
import { CircuitBreaker, RateLimiter } from "effect/persistence"
import { OutboundLimit } from "../../api/Middleware.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { isAdministrator, TooManyRequests } from "../../domain/access/Caller.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { withShare } from "../../sql/Transaction.ts"
import type { ConnectionShare } from "../../sql/Transaction.ts"
import { withMonotonicAround } from "../lifecycle/MonotonicClock.ts"
import { callerLimitRefusalsTotal, rateLimitedRequestsTotal, rateLimitStoreFailuresTotal } from "./RateLimitMetrics.ts"

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

  // By a monotonic clock: if a clock is set back, every bucket would stay empty for that time.
  const take: TokenBuckets["take"] = ({ allowOverflow, key, limit, refillRate, tokens }) =>
    Effect.map(Clock.monotonicTimeNanos, (nanos) => {
      const now = Number(nanos / 1_000_000n)
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
 * Counters in the memory of this process. Each layer that is built has its own counters. The store of Effect would keep the bucket of
 * every caller for ever.
 */
const layerStore = Layer.fresh(
  Layer.effect(
    RateLimiter.RateLimiterStore,
    Effect.map(RateLimiter.RateLimiterStore, (store) => {
      const { take } = makeTokenBuckets()
      return { ...store, tokenBucket: take }
    })
  ).pipe(Layer.provide(RateLimiter.layerStoreMemory))
)

const wholeSeconds = (duration: Duration.Duration) => Math.max(1, Math.ceil(Duration.toSeconds(duration)))

const isExceeded = (error: { readonly _tag: string; readonly reason?: { readonly _tag: string } }): error is Exceeded =>
  error._tag === "RateLimiterError" && error.reason?._tag === "RateLimitExceeded"

type Exceeded = RateLimiter.RateLimiterError & { readonly reason: RateLimiter.RateLimitExceeded }

type Take = (caller: string) => Effect.Effect<RateLimiter.ConsumeResult, RateLimiter.RateLimiterError>

const takeFrom = (limiter: RateLimiter.RateLimiter, { burst, requestsPerSecond }: Options): Take => {
  const window = Duration.seconds(burst / requestsPerSecond)
  return (caller) =>
    limiter.consume({ key: caller, limit: burst, window, algorithm: "token-bucket", onExceeded: "fail" })
}

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

// Limits of what a caller has in progress in this instance: requests, database connections, work outside of the database.

// Limits how much work of one kind a caller has in progress at the same time in this instance. A new kind of limited work is
// one `make` with a name and a maximum.

/** Seconds after which a refused caller may try again. When its work ends is unknown. */
const retryAfter = 1

export interface CallerLimitOptions {
  /** The label `limit` of `caller_limit_refusals_total`. */
  readonly name: string
  /** Per caller with scopes. The administrator and host programs have no limit. */
  readonly max: number
  /** Called with the id of a caller when the last of its work has ended. */
  readonly onIdle?: (callerId: string) => void
}

interface CallerLimit {
  /** Runs the work, or refuses it if the caller has `max` of it in progress. */
  run<A, E, R>(caller: Caller.Caller, work: Effect.Effect<A, E, R>): Effect.Effect<A, E | TooManyRequests, R>
  /** The same for work that lasts until the scope closes. */
  begin(caller: Caller.Caller): Effect.Effect<void, TooManyRequests, Scope.Scope>
  /** Fails if `run` would refuse the caller now. Reserves nothing. */
  check(caller: Caller.Caller): Effect.Effect<void, TooManyRequests>
}

export const makeCallerLimit = Effect.fnUntraced(function* ({ name, max, onIdle }: CallerLimitOptions) {
  const refusals = Metric.withAttributes(callerLimitRefusalsTotal, { limit: name })
  yield* Metric.update(refusals, 0)
  const inProgress = new Map<string, number>()

  const refused = Effect.andThen(
    Effect.all([Metric.update(refusals, 1), Metric.update(rateLimitedRequestsTotal, 1)]),
    Effect.fail(new TooManyRequests({ retryAfter }))
  )

  const countOf = ({ id }: Caller.Caller) => inProgress.get(id) ?? 0

  const start = (caller: Caller.Caller) =>
    Effect.suspend(() => {
      if (countOf(caller) >= max) return refused
      inProgress.set(caller.id, countOf(caller) + 1)
      return Effect.void
    })

  const end = (caller: Caller.Caller) =>
    Effect.sync(() => {
      const count = countOf(caller) - 1
      if (count > 0) return void inProgress.set(caller.id, count)
      inProgress.delete(caller.id)
      onIdle?.(caller.id)
    })

  const limit: CallerLimit = {
    run: (caller, work) =>
      isAdministrator(caller)
        ? work
        : Effect.acquireUseRelease(
            start(caller),
            () => work,
            () => end(caller)
          ),
    begin: (caller) =>
      isAdministrator(caller) ? Effect.void : Effect.acquireRelease(start(caller), () => end(caller)),
    check: (caller) => Effect.suspend(() => (isAdministrator(caller) || countOf(caller) < max ? Effect.void : refused))
  }
  return limit
})

/** Requests of one caller that are in progress at the same time. Each may hold a body of 1 MiB in memory. */
export const maxRequests = 64

/** Connections of the pool that one caller uses at the same time. Its further statements wait for its own. */
export const maxConnections = 4

/**
 * Connections that all callers use at the same time, of the 10 of a pool. The others are for the administrator, for readiness,
 * for the lookup of API keys and for the background jobs, so that these never wait behind callers.
 */
export const maxConnectionsOfCallers = 6

export class CallerRequests extends Context.Service<
  CallerRequests,
  {
    /** Runs the request of the caller under its share of the connections. The administrator has no limits. */
    admit<A, E, R>(caller: Caller.Caller, request: Effect.Effect<A, E, R>): Effect.Effect<A, E | TooManyRequests, R>
  }
>()("effect-relayer/server/limits/RateLimits/CallerRequests") {
  static readonly layer = Layer.effect(
    CallerRequests,
    Effect.gen(function* () {
      const common = yield* Semaphore.make(maxConnectionsOfCallers)
      const shares = new Map<string, ConnectionShare>()
      const limit = yield* makeCallerLimit({
        name: "requests",
        max: maxRequests,
        onIdle: (callerId) => void shares.delete(callerId)
      })

      const shareOf = (callerId: string) => {
        const share = shares.get(callerId) ?? { own: Semaphore.makeUnsafe(maxConnections), common }
        shares.set(callerId, share)
        return share
      }

      return CallerRequests.of({
        admit: (caller, request) =>
          isAdministrator(caller)
            ? request
            : limit.run(
                caller,
                Effect.suspend(() => withShare(shareOf(caller.id))(request))
              )
      })
    })
  )
}

// Work that waits for something outside of the database: chains, webhook receivers, Vault, the decryption of keystores.

/** Outbound work of one caller that runs at the same time in this instance. */
export const maxOutboundWork = 8

export class OutboundWork extends Context.Service<
  OutboundWork,
  {
    /**
     * Runs the work outside of the transaction of the request, which holds no connection meanwhile. A caller with scopes has
     * at most `maxPerCaller` of them at a time; the administrator and programs have no limit.
     */
    run<A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | TooManyRequests, R>
    /** Fails if `run` would refuse the caller now. */
    readonly check: Effect.Effect<void, TooManyRequests>
  }
>()("effect-relayer/server/limits/RateLimits/OutboundWork") {
  /** @internal */
  static readonly layer = Layer.effect(
    OutboundWork,
    Effect.gen(function* () {
      const outside = yield* Transaction.outside
      const limit = yield* makeCallerLimit({ name: "outbound_work", max: maxOutboundWork })
      return OutboundWork.of({
        run: (work) => Effect.flatMap(Caller.current, (caller) => limit.run(caller, outside(work))),
        check: Effect.flatMap(Caller.current, limit.check)
      })
    })
  )
}

/** The implementation of `OutboundLimit`. */
export const OutboundLimitHttp = Layer.effect(
  OutboundLimit,
  Effect.map(OutboundWork, ({ check }) => OutboundLimit.of((httpEffect) => Effect.andThen(check, httpEffect)))
)
