// Circuit breakers: when they open, what gets through, how they close, and what is counted of them.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { BreakerState } from "../../../src/domain/chain/ChainSnapshot.ts"
import { rpcBreakers } from "../../../src/server/chains/ChainMetrics.ts"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import { make, urls } from "./fixtures.ts"

const chainId = { method: "eth_chainId", params: [], result: Schema.String }

/** Of the states: closed, open, half open. */
const counts = Effect.forEach(["closed", "open", "half_open"], (state) =>
  Effect.map(Metric.value(Metric.withAttributes(rpcBreakers, { state })), ({ value }) => value)
)

const ownMetrics = Effect.provideService(Metric.MetricRegistry, new Map())

describe("a breaker", () => {
  it.effect("opens after three calls in a row that fail, for all pools with the URL", () =>
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

  it.effect("is let through by one try where there is nobody else, and closes by a success", () =>
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

  it.effect("is open no longer because the clock is set back", () =>
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

  it.effect("is half open after a while, closes by a success, and is open for longer after another failure", () =>
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
      // One try decides.
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

  it.effect("stays closed for a provider that answers with errors of its own", () =>
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

  it.effect("is counted by its state, and forgotten when others were used since", () =>
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
