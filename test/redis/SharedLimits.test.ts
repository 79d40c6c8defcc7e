// Rate limits that instances share in a real Redis. Requires TEST_REDIS_URL. Redis runs by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Redacted, Result, Schedule } from "effect"
import { RateLimiter } from "effect/persistence"
import { randomUUID } from "node:crypto"
import { inject } from "vitest"
import * as RedisRateLimiterStore from "../../src/process/RedisRateLimiterStore.ts"
import { RateLimits } from "../../src/server/limits/RateLimits.ts"

const options = { requestsPerSecond: 1, burst: 10 }

const instance = (url: string) =>
  Layer.fresh(RateLimits.layer(options)).pipe(
    Layer.provideMerge(Layer.fresh(RedisRateLimiterStore.layer(Redacted.make(url))))
  )

/** Waits for the store, which connects in the background and fails until then. */
const connected = RateLimiter.RateLimiterStore.pipe(
  Effect.flatMap((store) =>
    store.tokenBucket({ key: randomUUID(), tokens: 1, limit: 1, refillRate: Duration.seconds(1), allowOverflow: false })
  ),
  Effect.retry({ schedule: Schedule.spaced("50 millis"), times: 100 })
)

const send = (caller: string, count: number) =>
  Effect.gen(function* () {
    const limits = yield* RateLimits
    const results = yield* Effect.forEach(Array.from({ length: count }), () => Effect.result(limits.consume(caller)))
    return results.filter(Result.isSuccess).length
  })

describe("limits in Redis", () => {
  it.live("two instances share the bucket of a caller", () =>
    Effect.gen(function* () {
      const url = inject("redisUrl")
      const caller = randomUUID()
      const use = (count: number) =>
        Effect.andThen(connected, send(caller, count)).pipe(Effect.provide(instance(url)), Effect.scoped)
      assert.strictEqual(yield* use(6), 6)
      assert.isAtMost(yield* use(10), 5)
    })
  )

  it.live("if Redis is unavailable, an instance limits on its own", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* send(randomUUID(), 15), 10)
    }).pipe(Effect.provide(instance("redis://127.0.0.1:1")))
  )
})
