// Counters in this process's memory, by a clock that nobody sets: one that is set back would leave every bucket empty for as long.
import { Effect, Layer } from "effect"
import { RateLimiter } from "effect/persistence"
import { withMonotonic } from "../lifecycle/MonotonicClock.ts"

/** Each that is built counts for itself. */
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
