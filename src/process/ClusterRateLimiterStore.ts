// The rate limit's counters in the primary, which counts for all of its workers.
import { Duration, Effect, Layer } from "effect"
import { RateLimiter } from "effect/persistence"
import * as MemoryRateLimiterStore from "../server/limits/MemoryRateLimiterStore.ts"
import type { Channel, Handlers } from "./Channel.ts"
import type { OfPrimary, OfWorker } from "./Protocol.ts"

/** A worker whose primary is gone counts by itself what it still has to finish. */
export const layer = ({ ask }: Channel<OfPrimary, OfWorker>) =>
  Layer.effect(
    RateLimiter.RateLimiterStore,
    Effect.map(RateLimiter.RateLimiterStore, (own) => ({
      ...own,
      tokenBucket: (options) =>
        Effect.catch(ask("tokenBucket", { ...options, refillRate: Duration.toMillis(options.refillRate) }), () =>
          own.tokenBucket(options)
        ),
      fixedWindow: (options) =>
        Effect.catch(ask("fixedWindow", { ...options, refillRate: Duration.toMillis(options.refillRate) }), () =>
          own.fixedWindow(options)
        )
    }))
  ).pipe(Layer.provide(MemoryRateLimiterStore.layer))

/** The primary's side of it. */
export const handlers = Effect.gen(function* () {
  const store = yield* RateLimiter.RateLimiterStore
  const handlers: Pick<Handlers<OfPrimary>, "tokenBucket" | "fixedWindow"> = {
    tokenBucket: (options) =>
      Effect.orDie(store.tokenBucket({ ...options, refillRate: Duration.millis(options.refillRate) })),
    fixedWindow: (options) =>
      Effect.orDie(store.fixedWindow({ ...options, refillRate: Duration.millis(options.refillRate) }))
  }
  return handlers
}).pipe(Effect.provide(MemoryRateLimiterStore.layer))
