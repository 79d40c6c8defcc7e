// Calls of providers to servers on this machine: which provider is called, how often, when, and with which result.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Random } from "effect"
import { TestClock } from "effect/testing"
import { answeredFailure } from "../../../src/server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../src/server/chains/RpcNode.ts"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import * as RpcServer from "../../../testkit/RpcServer.ts"
import type { Fault } from "../../../testkit/RpcServer.ts"
import { answer, ask, make, until, urls } from "./fixtures.ts"

/** Only a node on the chain of `EvmRpc` proves itself. */
const provesChain = (node: RpcNode) =>
  Effect.flatMap(ask(node), (id) => (id === answer ? Effect.void : Effect.fail(answeredFailure("mismatch"))))

describe("a call to one provider", () => {
  const faults: ReadonlyArray<readonly [fault: Fault, code: string, tries: number]> = [
    ["html", "invalid_answer", 1],
    ["huge", "invalid_answer", 1],
    ["wrong id", "invalid_answer", 1],
    ["no result", "invalid_answer", 1],
    ["cut off", "unreachable", 2],
    [{ status: 500 }, "unreachable", 2],
    [{ status: 502 }, "unreachable", 2],
    [{ status: 503 }, "unreachable", 2],
    [{ status: 408 }, "unreachable", 2],
    [{ status: 425 }, "unreachable", 2],
    [{ status: 429 }, "rate_limited", 2],
    [{ status: 501 }, "refused", 1],
    [{ status: 505 }, "refused", 1],
    [{ status: 400 }, "refused", 1],
    [{ status: 401 }, "refused", 1],
    [{ status: 403 }, "refused", 1],
    [{ status: 404 }, "refused", 1],
    [{ status: 307, headers: { location: "/" } }, "invalid_answer", 1],
    [{ status: 204 }, "invalid_answer", 1],
    [{ error: -32005 }, "rate_limited", 2],
    [{ error: -32002 }, "unreachable", 2],
    [{ error: -32603 }, "unreachable", 2],
    [{ error: -32000 }, "refused", 1],
    [{ error: -32601 }, "refused", 1],
    [{ error: 3 }, "refused", 1]
  ]
  it.effect.each(faults)("that answers with %j fails with %s", ([fault, code, tries]) =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail(fault)
      const { call } = yield* make()
      const failed = yield* Effect.flip(call(urls(server.url)))
      assert.strictEqual(failed.code, code)
      assert.strictEqual(server.count(), tries)
    })
  )

  it.effect("succeeds if a retry does", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail({ status: 503 }, { times: 2 })
      const { providers } = yield* make({ attempts: 3 })
      const pool = yield* providers(urls(server.url))
      assert.strictEqual(yield* pool.first(ask), answer)
      assert.strictEqual(server.count(), 3)
      assert.deepInclude((yield* pool.readings)[0], { failed: false, breaker: "closed" })
    })
  )

  it.effect("waits for an answer until its time limit, once", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail("hang")
      const { call } = yield* make({ timeoutMs: 5000 })
      const fiber = yield* Effect.forkChild(Effect.flip(call(urls(server.url))))
      yield* until(() => server.count() === 1)
      yield* TestClock.adjust(4999)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(fiber)).text, "eth_chainId: no answer within 5000 ms")
      assert.strictEqual(server.count(), 1)
    })
  )

  it.effect("waits a random time between tries, whose upper bound doubles", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      server.fail({ status: 503 })
      const { call } = yield* make({ attempts: 5, backOffMs: 1000, longestWaitMs: 3000 })
      const fiber = yield* Effect.forkChild(Effect.flip(Random.withSeed(call(urls(server.url)), "back-off")))
      yield* until(() => fiber.pollUnsafe() !== undefined, TestClock.adjust(10))
      const waits = server.seen.slice(1).map(({ at }, index) => at - (server.seen[index]?.at ?? 0))
      assert.lengthOf(waits, 4)
      for (const [index, longest] of [1000, 2000, 3000, 3000].entries())
        assert.isBelow(waits[index] ?? NaN, longest + 50)
      assert.isAbove(Math.max(...waits), 1000)
      assert.strictEqual(new Set(waits).size, 4)
    })
  )
})

describe("several providers", () => {
  it.effect("come first in proportion to their weights, and are never called with weight 0", () =>
    Effect.gen(function* () {
      const servers = yield* Effect.all([EvmRpc.make(), EvmRpc.make(), EvmRpc.make()])
      const weights = [90, 10, 0]
      const { call } = yield* make()
      const given = urls(...servers.map(({ url }, index) => ({ url, weight: weights[index] ?? 0 })))
      yield* Random.withSeed(Effect.repeat(call(given), { times: 299 }), "weights")
      const counts = servers.map((server) => server.count())
      assert.strictEqual(
        counts.reduce((sum, count) => sum + count),
        300
      )
      assert.closeTo(counts[0] ?? 0, 270, 20)
      assert.isAbove(counts[1] ?? 0, 10)
      assert.strictEqual(counts[2], 0)
    })
  )

  const faults: ReadonlyArray<Fault> = ["html", "huge", "wrong id", { status: 500 }, { status: 401 }, { error: -32601 }]
  it.effect.each(faults)("take over from a provider that answers with %j, which is recorded as failed", (fault) =>
    Effect.gen(function* () {
      const broken = yield* EvmRpc.make()
      const other = yield* EvmRpc.make()
      broken.fail(fault)
      const { providers } = yield* make()
      const given = urls({ url: broken.url, weight: 100 }, { url: other.url, weight: 1 })
      const pool = yield* Random.withSeed(providers(given), "one")
      assert.strictEqual(yield* pool.first(ask), answer)
      assert.isAbove(broken.count(), 0)
      assert.deepStrictEqual(
        (yield* pool.readings).map(({ failed }) => failed),
        [true, false]
      )
    })
  )

  it.effect("take over from a provider that hangs, within the time limit of the call", () =>
    Effect.gen(function* () {
      const servers = yield* Effect.all([EvmRpc.make(), EvmRpc.make(), EvmRpc.make()])
      for (const server of servers) server.fail("hang")
      const { providers } = yield* make({ timeoutMs: 3000, budgetMs: 8000 })
      const pool = yield* providers(urls(...servers.map(({ url }) => url)))
      const call = yield* Effect.forkChild(Effect.flip(pool.first(ask)))
      const called = () => servers.reduce((sum, server) => sum + server.count(), 0)
      yield* until(() => called() === 1)
      yield* TestClock.adjust(3000)
      yield* until(() => called() === 2)
      yield* TestClock.adjust(3000)
      yield* until(() => called() === 3)
      yield* TestClock.adjust(1999)
      assert.isUndefined(call.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(call)).code, "unreachable")
      for (const reading of yield* pool.readings) assert.isTrue(reading.failed)
    })
  )

  it.effect("fail with the failure that is likely to end soonest, in any order of calls", () =>
    Effect.gen(function* () {
      const busy = yield* EvmRpc.make()
      const closed = yield* EvmRpc.make()
      busy.fail({ status: 429 })
      closed.fail({ status: 401 })
      const { call } = yield* make()
      for (const seed of ["a", "b", "c", "d", "e"]) {
        const failed = yield* Effect.flip(Random.withSeed(call(urls(busy.url, closed.url)), seed))
        assert.strictEqual(failed.code, "rate_limited")
      }
    })
  )

  it.effect("are all asked for their proof, and those that give it remain", () =>
    Effect.gen(function* () {
      const right = yield* EvmRpc.make()
      const wrong = yield* EvmRpc.make({ chainId: 1n })
      const dead = yield* RpcServer.dead
      const { providers } = yield* make({ prove: provesChain })
      const rest = yield* (yield* providers(urls(wrong.url, dead, right.url))).proven
      for (let index = 0; index < 20; index++) yield* rest.first(ask)
      assert.deepStrictEqual([wrong.count(), right.count()], [1, 21])
      assert.deepStrictEqual(
        (yield* rest.readings).map(({ code }) => code),
        ["mismatch", "unreachable", undefined]
      )
      const failureOf = (...given: ReadonlyArray<string>) =>
        Effect.map(Effect.flip(Effect.flatMap(providers(urls(...given)), ({ proven }) => proven)), ({ code }) => code)
      assert.strictEqual(yield* failureOf(wrong.url), "mismatch")
      // The dead provider may be right when it is back, so the failure is not "mismatch".
      assert.strictEqual(yield* failureOf(wrong.url, dead), "unreachable")
    })
  )

  it.effect("show how long their proof took, if they gave one", () =>
    Effect.gen(function* () {
      const slow = yield* EvmRpc.make()
      const wrong = yield* EvmRpc.make({ chainId: 1n })
      const dead = yield* RpcServer.dead
      const { providers } = yield* make({
        prove: (node) => (node.url === slow.url ? Effect.sleep("180 millis") : provesChain(node))
      })
      const pool = yield* providers(urls(wrong.url, dead, slow.url))
      const latencies = Effect.map(pool.readings, (all) => all.map(({ latency_ms }) => latency_ms))
      assert.deepStrictEqual(yield* latencies, [undefined, undefined, undefined])
      const proven = yield* Effect.forkChild(pool.proven)
      yield* until(() => proven.pollUnsafe() !== undefined, TestClock.adjust(60))
      assert.deepStrictEqual(yield* latencies, [undefined, undefined, 180])
    })
  )

  it.effect("that were unreachable give their proof again before they get bytes", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      const { providers } = yield* make({
        attempts: 1,
        prove: provesChain
      })
      const pool = yield* providers(urls(server.url))
      const send = pool.broadcast(({ url }) => Effect.succeed(url))
      assert.deepStrictEqual(yield* send, [server.url])
      server.fail({ status: 503 })
      yield* Effect.flip(pool.first(ask))
      server.recover()
      server.account.chainId = 1n
      assert.deepStrictEqual(yield* send, [])
    })
  )

  it.effect("get the same bytes in turn, two at each further send", () =>
    Effect.gen(function* () {
      const { providers } = yield* make()
      const all = urls("http://a.example", "http://b.example", "http://c.example", "http://d.example")
      const pool = yield* providers(all)
      const sent = (sends: number) => pool.broadcast(({ url }) => Effect.succeed(url), sends)
      const first = yield* sent(0)
      const second = yield* sent(1)
      assert.lengthOf(first, 2)
      assert.deepStrictEqual(
        [...first, ...second].sort(),
        all.map(({ url }) => url)
      )
      assert.deepStrictEqual(yield* sent(2), first)
      const three = yield* providers(all.slice(0, 3))
      assert.lengthOf(yield* three.broadcast(({ url }) => Effect.succeed(url)), 3)
    })
  )

  it.effect("with an open breaker are asked last, and give second opinions last", () =>
    Effect.gen(function* () {
      const [busy, second, third] = yield* Effect.all([EvmRpc.make(), EvmRpc.make(), EvmRpc.make()])
      const { breaker, call, providers } = yield* make({ attempts: 1, breaker: { failures: 1 } })
      busy.fail({ status: 503 })
      yield* Effect.flip(call(urls(busy.url)))
      assert.strictEqual(yield* breaker(busy.url).state, "open")
      busy.recover()
      for (let index = 0; index < 20; index++) {
        const pool = yield* providers(urls(busy.url, second.url, third.url))
        const node = yield* pool.first((node) => Effect.as(ask(node), node))
        assert.notStrictEqual(node.url, busy.url)
        const other = yield* pool.second(node, ({ url }) => Effect.succeed(url))
        assert.notInclude([node.url, busy.url], other)
        assert.strictEqual((yield* pool.broadcast(({ url }) => Effect.succeed(url))).at(-1), busy.url)
      }
      assert.strictEqual(busy.count(), 1)
    })
  )
})
