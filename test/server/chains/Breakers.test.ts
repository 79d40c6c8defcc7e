// Circuit breakers: when they open and close, which calls they let through, and their metric.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import type { BreakerState } from "../../../src/domain/chain/ChainSnapshot.ts"
import { rpcBreakers } from "../../../src/server/chains/Breakers.ts"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import { make, urls } from "./fixtures.ts"

/** The number of breakers that are closed, open and half open. */
const counts = Effect.forEach(["closed", "open", "half_open"], (state) =>
  Effect.map(Metric.value(Metric.withAttributes(rpcBreakers, { state })), ({ value }) => value)
)

const ownMetrics = Effect.provideService(Metric.MetricRegistry, new Map())

describe("a breaker", () => {
  it.effect("opens after three failed calls in a row, for all nodes with the URL", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail({ status: 500 })
      const { breaker, call } = yield* make({ attempts: 1 })
      const states: Array<BreakerState> = []
      for (const _ of [1, 2, 3]) {
        yield* Effect.flip(call(urls(server.url)))
        states.push(yield* breaker(server.url).state)
      }
      assert.deepStrictEqual(states, ["closed", "closed", "open"])

      const other = yield* EvmRpc.make()
      for (let index = 0; index < 20; index++) yield* call(urls(server.url, other.url))
      assert.deepStrictEqual([server.count(), other.count()], [3, 20])
    })
  )

  it.effect("that is open lets a single try through if no other provider answers, and closes on success", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail({ status: 500 })
      const { breaker, call } = yield* make({ attempts: 2, breaker: { failures: 1 } })
      yield* Effect.flip(call(urls(server.url)))
      assert.strictEqual(server.count(), 2)
      yield* Effect.flip(call(urls(server.url)))
      assert.strictEqual(server.count(), 3)
      assert.strictEqual(yield* breaker(server.url).state, "open")
      server.recover()
      yield* call(urls(server.url))
      assert.strictEqual(yield* breaker(server.url).state, "closed")
    })
  )

  it.effect("does not stay open for longer if the clock is set back", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail({ status: 500 })
      const { breaker, call } = yield* make({ attempts: 1, breaker: { failures: 1, openMs: 10_000 } })
      yield* TestClock.adjust("1 hour")
      yield* Effect.flip(call(urls(server.url)))
      assert.strictEqual(yield* breaker(server.url).state, "open")
      yield* TestClock.setTime(0)
      yield* TestClock.adjust(10_000)
      assert.strictEqual(yield* breaker(server.url).state, "half_open")
    })
  )

  it.effect("becomes half open, closes on success, and opens for longer after another failure", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      const other = yield* EvmRpc.make()
      server.fail({ status: 500 })
      const { breaker, call } = yield* make({ breaker: { failures: 1, openMs: 10_000 } })
      const both = urls({ url: server.url, weight: 100 }, { url: other.url, weight: 1 })
      const callUntilIsCalled = (count: number) =>
        Effect.repeat(call(both), { until: () => server.count() === count, times: 1000 })
      const state = breaker(server.url).state

      yield* callUntilIsCalled(2)
      assert.strictEqual(yield* state, "open")
      yield* TestClock.adjust(9999)
      assert.strictEqual(yield* state, "open")
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* state, "half_open")
      // A single try decides.
      yield* callUntilIsCalled(3)
      assert.strictEqual(yield* state, "open")
      yield* TestClock.adjust(19_999)
      assert.strictEqual(yield* state, "open")
      yield* TestClock.adjust(1)
      server.recover()
      yield* callUntilIsCalled(4)
      assert.strictEqual(yield* state, "closed")
    })
  )

  it.effect("stays closed if the provider answers with JSON-RPC errors", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail({ error: -32601 })
      const { breaker, call } = yield* make({ breaker: { failures: 1 } })
      yield* Effect.flip(call(urls(server.url)))
      assert.strictEqual(yield* breaker(server.url).state, "closed")
      server.fail({ status: 401 })
      yield* Effect.flip(call(urls(server.url)))
      assert.strictEqual(yield* breaker(server.url).state, "open")
    })
  )

  it.effect("is counted by its state, and is removed when it is the least recently used", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(
        Effect.gen(function* () {
          const servers = yield* Effect.all([EvmRpc.make(), EvmRpc.make(), EvmRpc.make()])
          const { breaker, call } = yield* make({ attempts: 1, breaker: { failures: 1, capacity: 2 } })
          const [first, second, third] = servers
          const callOne = ({ url }: { readonly url: string }) => Effect.exit(call(urls(url)))
          assert.deepStrictEqual(yield* counts, [0, 0, 0])
          first.fail({ status: 500 })
          yield* callOne(first)
          yield* callOne(second)
          assert.deepStrictEqual(yield* counts, [1, 1, 0])
          yield* callOne(third)
          assert.deepStrictEqual(yield* counts, [2, 0, 0])
          assert.strictEqual(yield* breaker(first.url).state, "closed")
        })
      )
      assert.deepStrictEqual(yield* counts, [0, 0, 0])
    }).pipe(ownMetrics)
  )
})
