// Counters in the memory of this process, by a monotonic clock: if a clock is set back, every bucket would stay empty for
// that time.
import { Effect, Layer } from "effect"
import { RateLimiter } from "effect/persistence"
import { withMonotonic } from "../lifecycle/MonotonicClock.ts"

/** Each layer that is built has its own counters. */
export const layer = Layer.fresh(
  Layer.effect(
    RateLimiter.RateLimiterStore,
    Effect.map(RateLimiter.RateLimiterStore, (store) => ({
      ...store,
      fixedWindow: (options) => withMonotonic(store.fixedWindow(options)),
      tokenBucket: (options) => withMonotonic(store.tokenBucket(options))
    }))
  ).pipe(Layer.provide(RateLimiter.layerStoreMemory))
)
