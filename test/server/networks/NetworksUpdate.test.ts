// Networks over HTTP: changed, and built-in ones overridden and reset.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { builtin } from "../../../src/server/networks/builtin.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { evmNetwork } from "./fixtures.ts"
import { data, networks } from "./requests.ts"

layer(TestApi.layer())("changes of networks over HTTP", (it) => {
  it.effect("a patch changes the given fields, and null restores the inherited value", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const path = `${networks}/evm:patched`
      const created = yield* api.call(networks, { body: { ...evmNetwork, name: "patched", from: "mainnet" } })
      const patch = (body: unknown) => api.call(path, { method: "PATCH", body })
      const first = yield* patch({ average_blocktime_ms: 1, rpc_urls: ["https://new.example.com/key"] })
      assert.strictEqual(first.status, 200, first.text)
      assert.deepStrictEqual(data(first), {
        ...data(created),
        average_blocktime_ms: 1,
        rpc_urls: [{ url: "https://new.example.com/***", weight: 100 }]
      })
      const second = yield* patch({ average_blocktime_ms: null, rpc_urls: null, symbol: null, tags: null })
      const mainnet = builtin.find(({ id }) => id === "evm:mainnet")
      const { tags: _, ...before } = data(created)
      assert.deepStrictEqual(data(second), {
        ...before,
        average_blocktime_ms: 12_000,
        rpc_urls: mainnet?.rpc_urls,
        symbol: "ETH"
      })
      assert.strictEqual((yield* api.call(path)).text, second.text)
    })
  )

  it.effect("a network can be made to be from another one, or from none", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const path = `${networks}/evm:moved`
      yield* api.call(networks, { body: { ...evmNetwork, name: "moved", tags: [] } })
      const from = yield* api.call(path, { method: "PATCH", body: { from: "base" } })
      assert.strictEqual(data(from).from, "base")
      assert.deepStrictEqual(data(from).tags, ["rollup", "optimism-based"])
      const alone = yield* api.call(path, { method: "PATCH", body: { from: null } })
      assert.isUndefined(data(alone).from)
      assert.deepStrictEqual(data(alone).tags, [])
    })
  )

  it.effect("a built-in network is overridden, field by field, and reset", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const path = `${networks}/evm:optimism`
      const before = data(yield* api.call(path))
      assert.strictEqual(before.source, "builtin")
      yield* api.call(path, { method: "PATCH", body: { rpc_urls: ["https://op.example.com/key"], tags: ["mine"] } })
      const second = yield* api.call(path, { method: "PATCH", body: { required_confirmations: 9 } })
      const overridden = {
        ...before,
        source: "overridden",
        rpc_urls: [{ url: "https://op.example.com/***", weight: 100 }],
        tags: ["mine"],
        required_confirmations: 9
      }
      assert.deepStrictEqual(data(second), overridden)
      assert.deepStrictEqual(data(yield* api.call(path)), overridden)
      const child = yield* api.call(networks, { body: { name: "op", network_type: "evm", from: "optimism" } })
      assert.strictEqual(data(child).required_confirmations, 9)
      const reset = yield* api.call(path, { method: "DELETE" })
      assert.strictEqual(reset.status, 200)
      assert.deepStrictEqual(reset.json, { success: true, data: "Network reset successfully" })
      assert.deepStrictEqual(data(yield* api.call(path)), before)
      assert.strictEqual(data(yield* api.call(`${networks}/evm:op`)).required_confirmations, 1)
    })
  )

  it.effect("nulls remove an override until the network equals the built-in one", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const path = `${networks}/evm:gnosis`
      const before = yield* api.call(path)
      const changed = yield* api.call(path, { method: "PATCH", body: { symbol: "X", is_testnet: true } })
      assert.strictEqual(data(changed).source, "overridden")
      const half = yield* api.call(path, { method: "PATCH", body: { symbol: null } })
      assert.deepStrictEqual(data(half), { ...data(before), source: "overridden", is_testnet: true })
      const whole = yield* api.call(path, { method: "PATCH", body: { is_testnet: null } })
      assert.strictEqual(whole.text, before.text)
      const reset = yield* api.call(path, { method: "DELETE" })
      assert.strictEqual(reset.json.error, "network_id: is built in and has nothing to reset")
      assert.strictEqual(reset.status, 400)
    })
  )

  it.effect("a patch without effect makes no version, no event and no audit record", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      const path = `${networks}/evm:repeated`
      const url = "https://repeated.example.com/key"
      yield* api.call(networks, { body: { ...evmNetwork, name: "repeated", rpc_urls: [url] } })
      const patch = (body: unknown) => api.call(path, { method: "PATCH", body })
      const records = sql<{ audit: number; events: number }>`
        SELECT (SELECT count(*)::int FROM audit WHERE resource_id = 'evm:repeated') AS audit,
               (SELECT count(*)::int FROM events WHERE resource_id = 'evm:repeated') AS events`
      const first = yield* patch({ required_confirmations: 9 })
      const before = yield* records
      for (const body of [
        { required_confirmations: 9 },
        { rpc_urls: [url] },
        { rpc_urls: ["https://repeated.example.com/***"] }
      ]) {
        const repeated = yield* patch(body)
        assert.deepStrictEqual([repeated.text, repeated.headers.get("etag")], [first.text, first.headers.get("etag")])
      }
      assert.deepStrictEqual(yield* records, before)
      // Only the key of the URL differs, which no response shows.
      const changed = yield* patch({ rpc_urls: ["https://repeated.example.com/key2"] })
      assert.strictEqual(changed.text, first.text)
      assert.notStrictEqual(changed.headers.get("etag"), first.headers.get("etag"))
      assert.notDeepEqual(yield* records, before)
    })
  )
})
