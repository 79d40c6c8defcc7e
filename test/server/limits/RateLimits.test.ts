import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Result } from "effect"
import { RateLimiter } from "effect/persistence"
import { TestClock } from "effect/testing"
import { RateLimits } from "../../../src/server/limits/RateLimits.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const options = { requestsPerSecond: 10, burst: 5 }

/** The number of `count` requests that pass, and the seconds until the next one may be sent. */
const send = (count: number, caller = "a") =>
  Effect.gen(function* () {
    const limits = yield* RateLimits
    const results = yield* Effect.forEach(Array.from({ length: count }), () => Effect.result(limits.consume(caller)))
    const passed = results.filter(Result.isSuccess).length
    const refused = results.find(Result.isFailure)
    return { passed, retryAfter: refused === undefined ? undefined : refused.failure.retryAfter }
  })

const broken = new RateLimiter.RateLimiterError({
  reason: new RateLimiter.RateLimitStoreError({ message: "away" })
})

const storeOf = (tokenBucket: RateLimiter.RateLimiterStore["Service"]["tokenBucket"]) =>
  Layer.succeed(RateLimiter.RateLimiterStore, {
    tokenBucket,
    fixedWindow: () => Effect.fail(broken),
    adaptiveConsume: () => Effect.fail(broken),
    adaptiveFeedback: () => Effect.void
  })

describe("RateLimits", () => {
  it.effect("a burst passes, and then as many requests as the bucket has refilled", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* send(7), { passed: 5, retryAfter: 1 })
      yield* TestClock.adjust("200 millis")
      assert.strictEqual((yield* send(7)).passed, 2)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* send(7)).passed, 5)
    }).pipe(Effect.provide(RateLimits.layerMemory(options)))
  )

  it.effect("a bucket refills if the clock is set back", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* send(7)).passed, 5)
      yield* TestClock.setTime(0)
      yield* TestClock.adjust("200 millis")
      assert.strictEqual((yield* send(7)).passed, 2)
    }).pipe(Effect.provide(RateLimits.layerMemory(options)))
  )

  it.effect("each caller has its own bucket", () =>
    Effect.gen(function* () {
      yield* send(7, "a")
      assert.strictEqual((yield* send(7, "b")).passed, 5)
    }).pipe(Effect.provide(RateLimits.layerMemory(options)))
  )

  it.effect("two processes with one store share a bucket", () =>
    Effect.gen(function* () {
      const store = yield* Layer.build(RateLimiter.layerStoreMemory)
      const other = RateLimits.layer(options).pipe(Layer.provide(Layer.succeedContext(store)))
      const one = yield* send(3).pipe(Effect.provide(other))
      const two = yield* send(3).pipe(Effect.provide(Layer.fresh(other)))
      assert.deepStrictEqual([one.passed, two.passed], [3, 2])
    })
  )

  it.effect("if the store fails, each process limits on its own", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* send(8), { passed: 5, retryAfter: 1 })
    }).pipe(Effect.provide(RateLimits.layer(options).pipe(Layer.provide(storeOf(() => Effect.fail(broken))))))
  )

  it.effect("if the store hangs, only a few requests wait for it, and not for long", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(send(5))
      yield* TestClock.adjust("750 millis")
      const { passed } = yield* Fiber.join(fiber)
      assert.strictEqual(passed, 5)
    }).pipe(Effect.provide(RateLimits.layer(options).pipe(Layer.provide(storeOf(() => Effect.never)))))
  )

  it.effect("a refusal by a shared store is a refusal, not a failure of the store", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* send(12)).passed, 5)
    }).pipe(Effect.provide(RateLimits.layer(options).pipe(Layer.provide(RateLimiter.layerStoreMemory))))
  )
})

layer(TestApi.layer({ limits: { requestsPerSecond: 1, burst: 3 } }))("the rate limit over HTTP", (it) => {
  it.effect("counts down, refuses with Retry-After, and exempts health and metrics", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const get = api.call("/api/v1/relayers")
      const answers = [yield* get, yield* get, yield* get, yield* get]
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 200, 429]
      )
      assert.deepStrictEqual(
        answers.map(({ headers }) => headers.get("ratelimit")),
        [`"default";r=2;t=1`, `"default";r=1;t=2`, `"default";r=0;t=3`, `"default";r=0;t=1`]
      )
      for (const { headers } of answers) assert.strictEqual(headers.get("ratelimit-policy"), `"default";q=3;w=3`)
      assert.strictEqual(answers[3]?.headers.get("retry-after"), "1")
      assert.deepStrictEqual(answers[3]?.json, { data: null, message: "Too Many Requests", success: false })

      assert.strictEqual((yield* api.call("/api/v1/relayers?page=x")).status, 429)
      assert.strictEqual((yield* api.call("/api/v1/relayers", { key: "x".repeat(40) })).status, 401)
      for (const path of ["/v1/health", "/metrics", "/api/v1/ready"]) {
        assert.strictEqual((yield* api.call(path)).status, 200)
      }
    })
  )
})

layerEach(TestApi.layer({ limits: { requestsPerSecond: 1, burst: 3 } }))("the rate limit of a key", (it) => {
  it.effect("counts requests that its scopes do not allow", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const { json } = yield* api.call("/api/v1/api-keys", { body: { name: "x", scopes: ["relayers:read"] } })
      const { key } = json.data as { readonly key: string }
      const refused = yield* Effect.forEach([1, 2, 3, 4], () => api.call("/api/v1/signers", { key }))
      assert.deepStrictEqual(
        refused.map(({ status }) => status),
        [403, 403, 403, 429]
      )
      assert.strictEqual(refused[0]?.headers.get("ratelimit"), `"default";r=2;t=1`)
    })
  )
})
