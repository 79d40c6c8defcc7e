// A request that needs a chain, while no provider gives a usable answer: 502 says why, for each provider.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as RpcServer from "../../../testkit/RpcServer.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { asTimePasses } from "../events/LiveApi.ts"
import { prepare, receiver, transactions } from "./Fixtures.ts"

const maskOf = (url: string) => `${new URL(url).origin}/***`

const chainId = 31_337n

/** The relayer `sender` has these URLs. */
const prepareOn = (...urls: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    yield* prepare()
    const { call } = yield* TestApi.TestApi
    const body = { custom_rpc_urls: urls.map((url) => ({ url })) }
    assert.strictEqual((yield* call("/api/v1/relayers/sender", { method: "PATCH", body })).status, 200)
  })

const simulate = Effect.flatMap(TestApi.TestApi, ({ call }) =>
  call(`${transactions}/simulate`, { body: { to: receiver } })
)

const pass = (method: string) =>
  Effect.flatMap(TestApi.TestApi, ({ call }) =>
    call("/api/v1/relayers/sender/rpc", { body: { jsonrpc: "2.0", id: 1, method, params: [] } })
  )

/** The parts of the error, in any order, because the providers are shuffled. */
const partsOf = ({ status, json, text }: TestApi.Answer) => {
  assert.deepStrictEqual([status, json.message], [502, "Bad Gateway"])
  assert.notInclude(text, RpcServer.secret)
  return (json.error ?? "").split("; ").sort()
}

layerEach(TestApi.layer())("a chain that does not answer", (it) => {
  it.effect("is 502 with the masked URL, the method and the HTTP status or the JSON-RPC code of each provider", () =>
    Effect.gen(function* () {
      const busy = yield* EvmRpc.make({ chainId })
      busy.fail({ status: 503 })
      const refusing = yield* EvmRpc.make({ chainId })
      refusing.fail({ error: -32_000 })
      const other = yield* EvmRpc.make({ chainId: 1n })
      other.results.set("eth_getBlockByNumber", () => null)
      const dead = yield* RpcServer.dead
      yield* prepareOn(busy.url, refusing.url, other.url, dead)
      const expected = [
        `${maskOf(busy.url)}: eth_chainId: HTTP 503`,
        `${maskOf(refusing.url)}: eth_chainId: JSON-RPC error -32000`,
        `${maskOf(other.url)}: eth_chainId: serves another chain: it has the chain id 1, and the network has ${chainId}`,
        `${maskOf(dead)}: eth_chainId: cannot be reached`
      ].sort()
      assert.deepStrictEqual(partsOf(yield* asTimePasses(simulate)), expected)
      assert.deepStrictEqual(partsOf(yield* asTimePasses(pass("eth_blockNumber"))), expected)
    })
  )

  it.effect("is 502 with the time limit if a provider hangs", () =>
    Effect.gen(function* () {
      const hanging = yield* EvmRpc.make({ chainId })
      hanging.fail("hang")
      yield* prepareOn(hanging.url)
      const answer = yield* asTimePasses(simulate)
      assert.deepStrictEqual(partsOf(answer), [`${maskOf(hanging.url)}: eth_chainId: no answer within 5000 ms`])
    })
  )

  it.effect("is 502 if no URL of the relayer may be called", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const body = { custom_rpc_urls: [{ url: "http://127.0.0.1:1", weight: 0 }] }
      const patched = yield* call("/api/v1/relayers/sender", { method: "PATCH", body })
      assert.strictEqual(patched.status, 200, patched.text)
      assert.deepStrictEqual(partsOf(yield* simulate), ["no RPC URL of the relayer has a weight above 0"])
    })
  )

  const evm = Effect.gen(function* () {
    const server = yield* EvmRpc.make({ chainId })
    server.results.set("eth_getBlockByNumber", () => ({ number: "0x0", hash: "0xaa" }))
    return server
  })

  it.effect("is 502 with the masked URL if an answer has what JSON or our schemas cannot carry", () =>
    Effect.gen(function* () {
      const beyond = ["1e400", "-1e400", "[1,[1e400]]", '{"a":1e999}', "9".repeat(81), "[".repeat(40) + "]".repeat(40)]
      const server = yield* evm
      server.results.set("eth_gasPrice", () => "a text to replace")
      yield* prepareOn(server.url)
      for (const result of beyond) {
        server.replace("a text to replace", result)
        const [part] = partsOf(yield* asTimePasses(pass("eth_gasPrice")))
        assert.strictEqual(
          part,
          `${maskOf(server.url)}: eth_gasPrice: the answer has a number that JSON cannot carry, or more levels than any answer`,
          result
        )
      }
    })
  )

  it.effect("is no reason to refuse a large number without a fraction, or a negative zero", () =>
    Effect.gen(function* () {
      const server = yield* evm
      yield* prepareOn(server.url)
      for (const [given, shown] of [
        ["1e16", "10000000000000000"],
        ["-0", "0"],
        ["-0.0", "0"],
        ["1e21", "1000000000000000000000"],
        ["1.5e300", "1.5e+300"],
        ["10000000000000000.0", "10000000000000000"]
      ] as const) {
        server.results.set("eth_gasPrice", () => JSON.rawJSON(given))
        const { status, text } = yield* asTimePasses(pass("eth_gasPrice"))
        assert.strictEqual(status, 200, given)
        assert.include(text, `"result":${shown}`)
      }
    })
  )

  it.effect("is 502 if the code of an error is no number that a response could repeat", () =>
    Effect.gen(function* () {
      const server = yield* evm
      yield* prepareOn(server.url)
      for (const error of [1e300, 2 ** 60]) {
        server.fail({ error }, { method: "eth_gasPrice" })
        const [part] = partsOf(yield* asTimePasses(pass("eth_gasPrice")))
        assert.strictEqual(part, `${maskOf(server.url)}: eth_gasPrice: the answer does not follow the protocol`)
      }
    })
  )
})
