// Token buckets in the memory of this instance. A bucket that is full again is forgotten: an unknown key has a full one.
import { Clock, Duration, Effect } from "effect"
import type { RateLimiter } from "effect/persistence"

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

export const make = (): TokenBuckets => {
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
