// Counters in the memory of this process, by a monotonic clock: if a clock is set back, every bucket would stay empty for
// that time.
import { Effect, Layer } from "effect"
import { RateLimiter } from "effect/persistence"
import { withMonotonic } from "../lifecycle/MonotonicClock.ts"
import * as TokenBuckets from "./TokenBuckets.ts"

/** Each layer that is built has its own counters. The store of Effect would keep the bucket of every caller for ever. */
export const layer = Layer.fresh(
  Layer.effect(
    RateLimiter.RateLimiterStore,
    Effect.map(RateLimiter.RateLimiterStore, (store) => {
      const { take } = TokenBuckets.make()
      return { ...store, tokenBucket: (options) => withMonotonic(take(options)) }
    })
  ).pipe(Layer.provide(RateLimiter.layerStoreMemory))
)
