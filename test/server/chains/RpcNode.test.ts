// Calls of one node: what is batched, what is tried again, and what counts as a failure of the provider.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import { ask, answer, make, urls } from "./fixtures.ts"

const raw = { method: "eth_sendRawTransaction", params: ["0x00"] }
const balance = { method: "eth_getBalance", params: ["0x00", "latest"], result: Schema.String }

/** The only provider of a server. */
const nodeOf = Effect.fnUntraced(function* (options: Parameters<typeof make>[0] = {}) {
  const server = yield* EvmRpc.make()
  const { breaker, providers } = yield* make(options)
  const node = yield* (yield* providers(urls(server.url))).first(Effect.succeed)
  return { server, node, state: breaker(server.url).state }
})

describe("a node", () => {
  it.effect("gets calls that are made at the same time in one batch, and each of them alone after a server error", () =>
    Effect.gen(function* () {
      const { node, server } = yield* nodeOf()
      server.fail({ status: 503 }, { times: 1 })
      const both = yield* Effect.all([ask(node), node.call(balance)], { concurrency: 2 })
      assert.deepStrictEqual(both, [answer, "0xde0b6b3a7640000"])
      assert.deepStrictEqual([server.batches(), server.count()], [1, 4])
    })
  )

  it.effect(
    "is asked once more for the rest of a batch, and stays a provider that works if one call got an answer",
    () =>
      Effect.gen(function* () {
        const { node, server, state } = yield* nodeOf({ breaker: { failures: 1 } })
        server.fail({ error: -32005 }, { method: balance.method })
        const both = yield* Effect.all([ask(node), node.call(balance)], { concurrency: 2, mode: "result" })
        assert.deepStrictEqual(
          both.map(({ _tag }) => _tag),
          ["Success", "Failure"]
        )
        assert.deepStrictEqual([server.batches(), server.count(), yield* state], [1, 3, "closed"])
      })
  )

  it.effect("gets bytes once, whatever it answers", () =>
    Effect.gen(function* () {
      const { node, server } = yield* nodeOf()
      server.fail({ status: 503 })
      const failed = yield* Effect.flip(node.send(raw))
      assert.deepInclude(failed.http, { status: 503 })
      assert.strictEqual(server.count(), 1)
    })
  )

  it.effect("does not fail because it refuses bytes", () =>
    Effect.gen(function* () {
      const { node, server, state } = yield* nodeOf({ breaker: { failures: 1 } })
      for (const error of [-32000, -32005, -32603]) {
        server.fail({ error })
        assert.deepInclude(yield* node.send(raw), { _tag: "RpcError", code: error })
        assert.deepInclude(yield* node.ask(raw), { _tag: "RpcError", code: error })
      }
      assert.strictEqual(yield* state, "closed")
    })
  )

  it.effect("names the code of the error that it answers, whether or not the error is about the call", () =>
    Effect.gen(function* () {
      const { node, server } = yield* nodeOf()
      for (const rpcCode of [-32_602, -32_603]) {
        server.fail({ error: rpcCode })
        assert.deepInclude(yield* Effect.flip(node.call(balance)), { rpcCode, method: balance.method })
      }
    })
  )

  it.effect("gets sends and reads of the same moment in requests of their own", () =>
    Effect.gen(function* () {
      const { node, server } = yield* nodeOf()
      server.results.set(raw.method, () => "0x01")
      yield* Effect.all([node.send(raw), ask(node), node.send(raw)], { concurrency: 3 })
      assert.deepStrictEqual([server.batches(), server.count()], [1, 3])
    })
  )

  it.effect("gives no usable answer if an integer has more than 80 digits, or if the answer nests too deep", () =>
    Effect.gen(function* () {
      const nested = (levels: number): ReadonlyArray<unknown> => (levels === 0 ? [] : [nested(levels - 1)])
      for (const result of [JSON.rawJSON("9".repeat(81)), nested(1000)]) {
        const { node, server } = yield* nodeOf()
        server.results.set("eth_call", () => result)
        const failure = yield* Effect.flip(node.ask({ method: "eth_call", params: [] }))
        assert.strictEqual(failure.code, "invalid_answer")
      }
    })
  )
})
