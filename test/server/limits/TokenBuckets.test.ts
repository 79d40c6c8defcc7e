import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeTokenBuckets } from "../../../src/server/limits/RateLimits.ts"

/** 300 tokens, and one more every 10 ms. */
const of = (key: string, tokens = 1) => ({
  key,
  tokens,
  limit: 300,
  refillRate: Duration.millis(10),
  allowOverflow: false
})

describe("token buckets", () => {
  it.effect("are forgotten when they are full again, however many callers there were", () =>
    Effect.gen(function* () {
      const buckets = makeTokenBuckets()
      for (let n = 0; n < 10_000; n++) yield* buckets.take(of(`caller-${n}`))
      assert.strictEqual(buckets.count(), 10_000)
      yield* TestClock.adjust("10 millis")
      yield* buckets.take(of("another"))
      assert.strictEqual(buckets.count(), 1)
    })
  )

  it.effect("are kept until they are full, also behind others in the queue", () =>
    Effect.gen(function* () {
      const buckets = makeTokenBuckets()
      yield* buckets.take(of("empty", 300))
      yield* buckets.take(of("nearly full"))
      yield* TestClock.adjust("2990 millis")
      assert.deepStrictEqual(yield* buckets.take(of("empty", 300)), [-1, 0])
      assert.deepStrictEqual(yield* buckets.take(of("nearly full")), [299, 0])
      yield* TestClock.adjust("1 hour")
      yield* buckets.take(of("another"))
      assert.strictEqual(buckets.count(), 1)
    })
  )

  it.effect("give part of an interval back to the next request", () =>
    Effect.gen(function* () {
      const buckets = makeTokenBuckets()
      yield* buckets.take(of("a", 300))
      yield* TestClock.adjust("25 millis")
      assert.deepStrictEqual(yield* buckets.take(of("a")), [1, 5])
    })
  )
})
