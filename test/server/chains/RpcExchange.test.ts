// Batches: what a provider refuses, cuts off or answers by half is asked again in smaller ones, and a dead URL is left alone.
import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Exit, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as BatchProvider from "../../../testkit/BatchProvider.ts"
import { isLong } from "../../../testkit/Depth.ts"
import { evmDialect } from "../../../src/networks/evm/chain/EvmNodes.ts"
import { solanaDialect as solana } from "../../../src/networks/solana/chain/SolanaCalls.ts"
import { Breakers } from "../../../src/server/chains/Breakers.ts"
import { makeBatchSize } from "../../../src/server/chains/RpcBatch.ts"
import { isRateLimit, pauseOf } from "../../../src/server/chains/RpcFailure.ts"
import * as RpcNode from "../../../src/server/chains/RpcNode.ts"

const url = "http://provider.example/"

const retry: RpcNode.RetryOptions = { attempts: 2, timeoutMs: 1000, backOffMs: 0, longestWaitMs: 2000 }

const breaker: RpcNode.NodeOptions["breaker"] = {
  state: Effect.succeed("closed"),
  isLimited: Effect.succeed(false),
  run: Effect.asSome,
  insist: (call) => call,
  pause: () => Effect.void
}

const nodeOf = (options: BatchProvider.Options, declared?: number, own = breaker) => {
  const provider = BatchProvider.make(options)
  const size = makeBatchSize(declared)
  const node = RpcNode.make({ client: provider.client, url, dialect: evmDialect, breaker: own, retry, size })
  return { provider, node }
}

const read = (index: number) => ({ method: "eth_call", params: [`0x${index}`], result: Schema.String })

/** The results of calls of one moment. Undefined: the call was not answered. Time passes if the provider takes it. */
const together = <A>(calls: ReadonlyArray<Effect.Effect<A, unknown>>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.forEach(calls, Effect.exit, { concurrency: "unbounded" }))
    yield* Effect.yieldNow
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust(retry.timeoutMs)
    const exits = yield* Fiber.join(fiber)
    return exits.map((exit) => (Exit.isSuccess(exit) ? exit.value : undefined))
  })

const readAll = (node: RpcNode.RpcNode, count: number) =>
  together(Array.from({ length: count }, (_, index) => node.call(read(index))))

const expected = (count: number) => Array.from({ length: count }, (_, index) => `0x${index}`)

const counts = [1, 2, 7, 24]

const someLimits = [1, 2, 3, 7, 11, 20]

/** A change tries some of them. */
const limits = isLong ? Array.from({ length: 20 }, (_, index) => index + 1) : someLimits

/** What ends after the first polls, because no answer was waited for in vain or the provider asked for time. */
const slow = new Set(["no answer in time", "HTTP 429", "one rate error object for the array"])

describe("a provider that takes batches of up to 1 to 20 calls", () => {
  for (const behaviour of Object.keys(BatchProvider.behaviours)) {
    it.effect(`answers each of 1 to 24 calls in the end, if larger batches get ${behaviour}`, () =>
      Effect.gen(function* () {
        for (const limit of limits) {
          for (const count of counts) {
            const { node, provider } = nodeOf({ behaviour, limit })
            let found = yield* readAll(node, count)
            // A caller that polls asks again: what the provider takes is known by then.
            for (let poll = 0; slow.has(behaviour) && poll < 6 && found.includes(undefined); poll++) {
              found = yield* readAll(node, count)
            }
            const where = `${count} calls, ${limit} in a batch: ${provider.sizes.join()}`
            assert.deepStrictEqual(found, expected(count), where)
            // The bound of all tries: each call alone, and twice the halvings of the whole.
            if (!slow.has(behaviour)) assert.isAtMost(provider.requests, count + 2 * 6 + 2, where)
          }
        }
      })
    )

    it.effect(`answers the calls beside one that it never answers, if larger batches get ${behaviour}`, () =>
      Effect.gen(function* () {
        for (const limit of someLimits) {
          const { node } = nodeOf({ behaviour, limit })
          const polls = slow.has(behaviour) ? 8 : 1
          let found = new Array<string | undefined>()
          for (let poll = 0; poll < polls; poll++) {
            found = yield* together([
              ...Array.from({ length: 9 }, (_, index) => node.call(read(index))),
              node.call({ ...read(9), method: BatchProvider.broken }),
              node.call(read(10))
            ])
          }
          assert.deepStrictEqual(found, [...expected(9), undefined, "0x10"], `${limit} in a batch`)
        }
      })
    )

    it.effect(`gets signed bytes in the end, if larger batches get ${behaviour}`, () =>
      Effect.gen(function* () {
        for (const limit of someLimits) {
          const { node } = nodeOf({ behaviour, limit })
          const raw = (index: number) => node.send({ method: "eth_sendRawTransaction", params: [`0x${index}`] })
          const sendAll = together(Array.from({ length: 12 }, (_, index) => raw(index)))
          let found = yield* sendAll
          for (let poll = 0; slow.has(behaviour) && poll < 4 && found.includes(undefined); poll++) {
            found = yield* sendAll
          }
          assert.deepStrictEqual(
            found,
            expected(12).map((value) => ({ _tag: "Result" as const, value })),
            `${limit} in a batch`
          )
        }
      })
    )
  }
})

describe("the batch size of a URL", () => {
  it.effect("is remembered, so that the next calls are asked without a refusal", () =>
    Effect.gen(function* () {
      const { node, provider } = nodeOf({ behaviour: "HTTP 500 (drpc, 1rpc)", limit: 3 })
      yield* readAll(node, 50)
      assert.strictEqual(yield* node.batchSize, 3)
      provider.sizes = []
      yield* readAll(node, 50)
      assert.isAtMost(Math.max(...provider.sizes), 3)
      assert.lengthOf(provider.sizes, 17)
    })
  )

  it.effect("is tried larger after half a minute, and grows to what the provider takes by then", () =>
    Effect.gen(function* () {
      const { node, provider } = nodeOf({ behaviour: "HTTP 500 (drpc, 1rpc)", limit: 3 })
      yield* readAll(node, 50)
      provider.limit = 1000
      for (let tries = 0; tries < 10; tries++) {
        yield* TestClock.adjust("1 minute")
        yield* readAll(node, 50)
      }
      assert.strictEqual(yield* node.batchSize, 50)
    })
  )

  it.effect("is tried larger less and less often while the provider refuses it", () =>
    Effect.gen(function* () {
      const { node, provider } = nodeOf({ behaviour: "HTTP 500 (drpc, 1rpc)", limit: 3 })
      yield* readAll(node, 50)
      provider.sizes = []
      for (let minute = 0; minute < 120; minute++) {
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(yield* readAll(node, 50), expected(50))
      }
      assert.isAtMost(provider.sizes.filter((size) => size > 3).length, 10)
    })
  )

  it.effect("is at first what the provider is known to take", () =>
    Effect.gen(function* () {
      const { node, provider } = nodeOf({ behaviour: "HTTP 500 (drpc, 1rpc)", limit: 3 }, 3)
      yield* readAll(node, 50)
      assert.strictEqual(Math.max(...provider.sizes), 3)
    })
  )

  it.effect("stays what it is if a request is refused for its length, which is split", () =>
    Effect.gen(function* () {
      const { node, provider } = nodeOf({ behaviour: "HTTP 400", limit: 50, maxBytes: 150_000 })
      yield* readAll(node, 20)
      const long = "f".repeat(40_000)
      const large = (index: number) => node.call({ ...read(index), params: [`0x${index}`, long] })
      const found = yield* together(Array.from({ length: 6 }, (_, index) => large(index)))
      assert.deepStrictEqual(found, expected(6))
      assert.strictEqual(yield* node.batchSize, 50)
      provider.requests = 0
      yield* readAll(node, 20)
      assert.strictEqual(provider.requests, 1)
    })
  )
})

describe("a URL that is dead", () => {
  const seen = Effect.fnUntraced(function* (count: number, run: (node: RpcNode.RpcNode) => Effect.Effect<unknown>) {
    const { node, provider } = nodeOf({ behaviour: "HTTP 400", limit: 50 })
    provider.isDead = true
    yield* run(node)
    return [count, provider.sizes]
  })

  it.effect("gets a batch, and one call alone, however many calls there are", () =>
    Effect.gen(function* () {
      for (const count of [2, 10, 50]) {
        assert.deepStrictEqual(yield* seen(count, (node) => readAll(node, count)), [count, [count, 1]])
      }
      assert.deepStrictEqual(yield* seen(1, (node) => readAll(node, 1)), [1, [1, 1]])
    })
  )

  it.effect("gets one call if its batches were refused before", () =>
    Effect.gen(function* () {
      const { node, provider } = nodeOf({ behaviour: "HTTP 500 (drpc, 1rpc)", limit: 1 })
      yield* readAll(node, 20)
      provider.isDead = true
      provider.sizes = []
      yield* readAll(node, 20)
      assert.deepStrictEqual(provider.sizes, [1, 1])
    })
  )

  it.effect("is left alone after a few more calls if it dies among single calls", () =>
    Effect.gen(function* () {
      const { node, provider } = nodeOf({ behaviour: "a closed connection (Erigon)", limit: 1 })
      yield* readAll(node, 4)
      provider.sizes = []
      provider.diesAfter = 10
      yield* readAll(node, 50)
      // Up to four calls are asked at the same time.
      assert.isAtMost(provider.sizes.length, 10 + 3 + 3)
    })
  )
})

describe("a provider that answers a part, and asks for a pause", () => {
  const error = (id: number, more: object) => ({
    jsonrpc: "2.0",
    id,
    error: { code: -32005, message: "rate limited", ...more }
  })

  /** The first three calls of a batch are answered, and the others get an error. */
  const withError =
    (more: object, headers: Readonly<Record<string, string>> = {}): BatchProvider.Options["behaviour"] =>
    (calls, limit) => ({
      headers,
      body: calls.map((call, index) => (index < limit ? BatchProvider.result(call) : error(call.id, more)))
    })

  /** Batches of more than three calls get HTTP 500. The first smaller one is answered, and the next ones get HTTP 503. */
  const afterOneBatch = (): BatchProvider.Options["behaviour"] => {
    let answered = 0
    return (calls) => {
      const [first] = calls
      if (calls.length > 3) return { status: 500, body: "" }
      if (answered++ > 1) return { status: 503, headers: { "retry-after": "60" }, body: "" }
      return {
        body: calls.length === 1 && first !== undefined ? BatchProvider.result(first) : calls.map(BatchProvider.result)
      }
    }
  }

  const pausing = Effect.fnUntraced(function* (options: BatchProvider.Options) {
    const breakers = Context.get(yield* Layer.build(Breakers.layer()), Breakers)
    return nodeOf(options, undefined, breakers.of(url))
  })

  const answered = (found: ReadonlyArray<unknown>) => found.filter((value) => value !== undefined).length

  const cases: Readonly<Record<string, () => BatchProvider.Options>> = {
    "the data of an error (Infura)": () => ({
      behaviour: withError({ data: { rate: { backoff_seconds: 60 } } }),
      limit: 3
    }),
    "the words of an error": () => ({ behaviour: withError({ message: "rate limited, retry in 60s" }), limit: 3 }),
    "a header beside the errors": () => ({ behaviour: withError({}, { "retry-after": "60" }), limit: 3 }),
    "HTTP 503 to a smaller batch": () => ({ behaviour: afterOneBatch(), limit: 0 })
  }
  for (const [where, options] of Object.entries(cases)) {
    it.effect(`is left alone for that time: it is in ${where}`, () =>
      Effect.gen(function* () {
        const { node, provider } = yield* pausing(options())
        const found = yield* readAll(node, 7)
        assert.isAbove(answered(found), 0)
        assert.isBelow(answered(found), 7)
        assert.strictEqual(yield* node.breaker, "open")
        const { requests } = provider
        assert.deepStrictEqual(yield* readAll(node, 2), [undefined, undefined])
        yield* TestClock.adjust("50 seconds")
        assert.deepStrictEqual(yield* readAll(node, 2), [undefined, undefined])
        assert.strictEqual(provider.requests, requests)
        yield* TestClock.adjust("10 seconds")
        provider.limit = 50
        assert.deepStrictEqual(yield* readAll(node, 7), expected(7))
        assert.strictEqual(yield* node.breaker, "closed")
      })
    )
  }

  it.effect("is asked again in the same exchange after a short pause", () =>
    Effect.gen(function* () {
      const { node } = yield* pausing({
        behaviour: withError({ message: "rate limited, try again in 500ms" }),
        limit: 3
      })
      assert.deepStrictEqual(yield* readAll(node, 6), expected(6))
      assert.strictEqual(yield* node.breaker, "closed")
    })
  )

  it.effect("is left alone for five minutes at most", () =>
    Effect.gen(function* () {
      const data = { rate: { backoff_seconds: 1e9 } }
      const { node, provider } = yield* pausing({ behaviour: withError({ data }), limit: 3 })
      yield* readAll(node, 7)
      provider.limit = 50
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(yield* readAll(node, 7), expected(7))
    })
  )

  it("is asked to wait for no time that is none", () => {
    const none = [
      { message: "rate limited" },
      { message: "retry in 0s" },
      { message: "", data: { backoff_seconds: -1 } },
      { message: "", data: { backoff_seconds: "60" } },
      { message: "", data: { rate: null } },
      { message: "", data: "60" },
      { message: "execution took 5s" }
    ]
    assert.deepStrictEqual(
      none.map(pauseOf),
      none.map(() => undefined)
    )
    assert.deepStrictEqual(pauseOf({ message: "Retry after 2 minutes" }), Duration.minutes(2))
    assert.deepStrictEqual(pauseOf({ message: "", data: { retry_after: 1.5 } }), Duration.millis(1500))
  })
})

describe("a rate error", () => {
  const revert = "execution reverted: capacity exceeded, rate limit"
  const cases = [
    [429, "anything", true],
    [-32016, "over rate limit", true],
    [-32029, "anything", true],
    [-32000, "exceeded its compute units per second capacity", true],
    [-32005, "daily request count exceeded, request rate limited", true],
    [-32007, "50/second request limit reached", true],
    [-32005, "query returned more than 10000 results", false],
    [3, revert, false],
    [-32000, revert, false],
    [-32000, "transaction pool over capacity", false],
    [-32601, "the method does not exist", false]
  ] as const
  it.effect.each(cases)("is known by its code or its words: %i %s", ([code, message, isLimit]) =>
    Effect.sync(() => assert.strictEqual(isRateLimit(evmDialect, { code, message }), isLimit))
  )

  it("is not -32016 on solana, where a node says so that it has not reached a slot", () => {
    const error = { code: -32016, message: "Minimum context slot has not been reached" }
    assert.isFalse(isRateLimit(solana, error))
  })
})
