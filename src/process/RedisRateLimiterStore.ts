// Counts requests in Redis. While Redis cannot be reached, which may be so from the start, the store fails and `RateLimits` counts in
// this process.
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import { Effect, Layer, Redacted, Schedule } from "effect"
import { RateLimiter } from "effect/persistence"

const away = new RateLimiter.RateLimiterError({
  reason: new RateLimiter.RateLimitStoreError({ message: "Redis is not connected" })
})

const retry = Schedule.min([Schedule.exponential("250 millis"), Schedule.spaced("10 seconds")])

export const layer = (url: Redacted.Redacted) =>
  Layer.effect(
    RateLimiter.RateLimiterStore,
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      let store: RateLimiter.RateLimiterStore["Service"] | undefined

      const redis = RateLimiter.layerStoreRedis({ prefix: "effect-relayer:limit:" }).pipe(
        Layer.provide(
          NodeRedis.layer({ url: Redacted.value(url), disableOfflineQueue: true, socket: { connectTimeout: 2000 } })
        )
      )
      yield* Layer.buildWithScope(redis, scope).pipe(
        Effect.tapError((error) =>
          Effect.annotateLogs(Effect.logWarning("cannot reach Redis, so this instance counts requests by itself"), {
            error: String(error.cause)
          })
        ),
        Effect.retry(retry),
        Effect.flatMap((context) => Effect.provideContext(RateLimiter.RateLimiterStore, context)),
        Effect.tap((connected) => Effect.sync(() => (store = connected))),
        Effect.andThen(Effect.logInfo("counting requests in Redis")),
        Effect.forkScoped
      )

      const use = <A>(
        f: (store: RateLimiter.RateLimiterStore["Service"]) => Effect.Effect<A, RateLimiter.RateLimiterError>
      ) => Effect.suspend(() => (store === undefined ? Effect.fail(away) : f(store)))

      return RateLimiter.RateLimiterStore.of({
        fixedWindow: (options) => use((store) => store.fixedWindow(options)),
        tokenBucket: (options) => use((store) => store.tokenBucket(options)),
        adaptiveConsume: (options) => use((store) => store.adaptiveConsume(options)),
        adaptiveFeedback: (options) => use((store) => store.adaptiveFeedback(options))
      })
    })
  )
