// How long calls to a provider pause after 429 with `Retry-After`.
import { assert, describe, it } from "@effect/vitest"
import { Clock, DateTime, Effect, Fiber } from "effect"
import { Headers } from "effect/http"
import { TestClock } from "effect/testing"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import { answer, ask, make, until, urls } from "./fixtures.ts"

describe("a provider that answers 429", () => {
  it.effect("is called again after Retry-After, if that is soon", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail({ status: 429, headers: { "retry-after": "2" } }, { times: 1 })
      const { call } = yield* make()
      const fiber = yield* Effect.forkChild(call(urls(server.url)))
      yield* until(() => fiber.pollUnsafe() !== undefined, TestClock.adjust(10))
      assert.strictEqual(yield* Fiber.join(fiber), answer)
      const [first, second] = server.seen.map(({ at }) => at)
      assert.isAtLeast((second ?? 0) - (first ?? 0), 2000)
    })
  )

  const late = [
    ["seconds", () => "60"],
    ["a date", (now: number) => Headers.formatHttpDate(DateTime.makeUnsafe(now + 60_000))]
  ] as const
  it.effect.each(late)("is replaced by the next one, and not called before Retry-After in %s", ([, retryAfter]) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_800_000_000_000)
      const busy = yield* EvmRpc.make()
      const other = yield* EvmRpc.make()
      const headers = { "retry-after": retryAfter(yield* Clock.currentTimeMillis) }
      busy.fail({ status: 429, headers }, { times: 1 })
      const { call, providers } = yield* make()
      const lone = yield* providers(urls(busy.url))
      assert.strictEqual((yield* Effect.flip(lone.first(ask))).code, "rate_limited")
      assert.deepInclude((yield* lone.readings)[0], { failed: true, breaker: "open", code: "rate_limited" })

      for (let index = 0; index < 20; index++) assert.strictEqual(yield* call(urls(busy.url, other.url)), answer)
      // It is not called earlier even if it is the only provider.
      yield* TestClock.adjust(59_000)
      assert.strictEqual((yield* Effect.flip(lone.first(ask))).code, "rate_limited")
      assert.strictEqual(busy.count(), 1)
      assert.strictEqual(other.count(), 20)

      yield* TestClock.adjust(1000)
      assert.strictEqual(yield* lone.first(ask), answer)
      assert.deepInclude((yield* (yield* providers(urls(busy.url))).readings)[0], { failed: false, breaker: "closed" })
    })
  )

  it.effect("is called again after five minutes at the latest", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail({ status: 429, headers: { "retry-after": "9".repeat(30) } }, { times: 1 })
      const { call } = yield* make()
      yield* Effect.flip(call(urls(server.url)))
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(yield* call(urls(server.url)), answer)
    })
  )

  it.effect("is not paused for longer if the clock is set back", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_800_000_000_000)
      const server = yield* EvmRpc.make()
      server.fail({ status: 429, headers: { "retry-after": "60" } }, { times: 1 })
      const { call } = yield* make()
      yield* Effect.flip(call(urls(server.url)))
      yield* TestClock.setTime(1_800_000_000_000 - 3_600_000)
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual(yield* call(urls(server.url)), answer)
    })
  )
})
