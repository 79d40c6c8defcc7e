// Circuit breakers: when they open and close, which calls they let through, and their metric.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { BreakerState } from "../../../src/domain/chain/ChainSnapshot.ts"
import { rpcBreakers } from "../../../src/server/chains/ChainMetrics.ts"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import { make, urls } from "./fixtures.ts"

const chainId = { method: "eth_chainId", params: [], result: Schema.String }

/** The number of breakers that are closed, open and half open. */
const counts = Effect.forEach(["closed", "open", "half_open"], (state) =>
  Effect.map(Metric.value(Metric.withAttributes(rpcBreakers, { state })), ({ value }) => value)
)

const ownMetrics = Effect.provideService(Metric.MetricRegistry, new Map())

describe("a breaker", () => {
  it.effect("opens after three failed calls in a row, for all pools with the URL", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail({ status: 500 })
      const { breakers, pools } = yield* make({ attempts: 1 })
      const states: Array<BreakerState> = []
      for (const _ of [1, 2, 3]) {
        yield* Effect.flip(pools.of("evm", urls(server.url)).call(chainId))
        states.push(yield* breakers.state(server.url))
      }
      assert.deepStrictEqual(states, ["closed", "closed", "open"])

      const other = yield* EvmRpc.make()
      for (let index = 0; index < 20; index++) yield* pools.of("evm", urls(server.url, other.url)).call(chainId)
      assert.deepStrictEqual([server.count(), other.count()], [3, 20])
    })
  )

  it.effect("that is open lets a single try through if no other provider answers, and closes on success", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail({ status: 500 })
      const { breakers, pools } = yield* make({ attempts: 2, breaker: { failures: 1 } })
      const pool = pools.of("evm", urls(server.url))
      yield* Effect.flip(pool.call(chainId))
      assert.strictEqual(server.count(), 2)
      yield* Effect.flip(pool.call(chainId))
      assert.strictEqual(server.count(), 3)
      assert.strictEqual(yield* breakers.state(server.url), "open")
      server.recover()
      yield* pool.call(chainId)
      assert.strictEqual(yield* breakers.state(server.url), "closed")
    })
  )

  it.effect("does not stay open for longer if the clock is set back", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail({ status: 500 })
      const { breakers, pools } = yield* make({ attempts: 1, breaker: { failures: 1, openMs: 10_000 } })
      yield* TestClock.adjust("1 hour")
      yield* Effect.flip(pools.of("evm", urls(server.url)).call(chainId))
      assert.strictEqual(yield* breakers.state(server.url), "open")
      yield* TestClock.setTime(0)
      yield* TestClock.adjust(10_000)
      assert.strictEqual(yield* breakers.state(server.url), "half_open")
    })
  )

  it.effect("becomes half open, closes on success, and opens for longer after another failure", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      const other = yield* EvmRpc.make()
      server.fail({ status: 500 })
      const { breakers, pools } = yield* make({ breaker: { failures: 1, openMs: 10_000 } })
      const pool = pools.of("evm", urls({ url: server.url, weight: 100 }, { url: other.url, weight: 1 }))
      const callUntilIsCalled = (count: number) =>
        Effect.repeat(pool.call(chainId), { until: () => server.count() === count, times: 1000 })
      const state = breakers.state(server.url)

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
      const { breakers, pools } = yield* make({ breaker: { failures: 1 } })
      yield* Effect.flip(pools.of("evm", urls(server.url)).call(chainId))
      assert.strictEqual(yield* breakers.state(server.url), "closed")
      server.fail({ status: 401 })
      yield* Effect.flip(pools.of("evm", urls(server.url)).call(chainId))
      assert.strictEqual(yield* breakers.state(server.url), "open")
    })
  )

  it.effect("is counted by its state, and is removed when it is the least recently used", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(
        Effect.gen(function* () {
          const servers = yield* Effect.all([EvmRpc.make(), EvmRpc.make(), EvmRpc.make()])
          const { breakers, pools } = yield* make({ attempts: 1, breaker: { failures: 1, capacity: 2 } })
          const [first, second, third] = servers
          const call = ({ url }: { readonly url: string }) => Effect.exit(pools.of("evm", urls(url)).call(chainId))
          assert.deepStrictEqual(yield* counts, [0, 0, 0])
          first.fail({ status: 500 })
          yield* call(first)
          yield* call(second)
          assert.deepStrictEqual(yield* counts, [1, 1, 0])
          yield* call(third)
          assert.deepStrictEqual(yield* counts, [2, 0, 0])
          assert.strictEqual(yield* breakers.state(first.url), "closed")
        })
      )
      assert.deepStrictEqual(yield* counts, [0, 0, 0])
    }).pipe(ownMetrics)
  )
})
