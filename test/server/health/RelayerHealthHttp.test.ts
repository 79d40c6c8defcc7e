// Status and balance of a relayer over HTTP, with test servers as its chain.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import { secret } from "../../../testkit/RpcServer.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { relayerAt } from "./RelayerAt.ts"

const masked = (url: string) => `${new URL(url).origin}/***`

const api = Layer.provideMerge(TestApi.layer(), Logger.layer([]))

layer(api)("the health of a relayer", (it) => {
  it.effect("status reads the chain now, with amounts as decimal strings and masked URLs", () =>
    Effect.gen(function* () {
      const rpc = yield* EvmRpc.make({ balance: 2n ** 128n - 1n, nonce: 2n ** 60n })
      const relayer = yield* relayerAt([rpc.url])
      const { status, json, text } = yield* relayer.get("status")
      assert.strictEqual(status, 200, text)
      const { read_at, next_check_at, providers, ...data } = json.data as Record<string, unknown>
      assert.deepStrictEqual(data, {
        network_type: "evm",
        balance: String(2n ** 128n - 1n),
        nonce: String(2n ** 60n),
        pending_transactions_count: 0,
        live: true,
        paused: false,
        system_disabled: false,
        health: "unknown"
      })
      const [provider, ...others] = providers as ReadonlyArray<Record<string, unknown>>
      const { latency_ms, ...found } = provider ?? {}
      assert.deepStrictEqual(
        [found, others],
        [{ url: masked(rpc.url), weight: 100, breaker: "closed", failed: false }, []]
      )
      assert.isAtLeast(Number(latency_ms), 0)
      assert.match(String(read_at), /^\d{4}-.*Z$/)
      assert.match(String(next_check_at), /^\d{4}-.*Z$/)
      assert.notInclude(text, secret)
    })
  )

  it.effect(
    "if the chain does not answer, status has the last amounts, and balance is 502 until it answers again",
    () =>
      Effect.gen(function* () {
        const rpc = yield* EvmRpc.make({ balance: 77n })
        const relayer = yield* relayerAt([rpc.url])
        assert.strictEqual((yield* relayer.check()).status, 200)
        assert.strictEqual((yield* relayer.get("balance")).text, '{"success":true,"data":{"balance":77,"unit":"wei"}}')
        rpc.fail({ status: 501 })
        const away = yield* relayer.get("status")
        const { live, balance, health } = away.json.data as Record<string, unknown>
        assert.deepStrictEqual({ live, balance, health }, { live: false, balance: "77", health: "healthy" })
        const refused = yield* relayer.get("balance")
        assert.strictEqual(refused.status, 502)
        assert.deepStrictEqual(refused.json, {
          data: null,
          message: "Bad Gateway",
          success: false,
          error: `${new URL(rpc.url).origin}/***: eth_chainId: HTTP 501`
        } as object)
        assert.notInclude(away.text + refused.text, secret)
        rpc.recover()
        assert.strictEqual((yield* relayer.get("balance")).status, 200)
      })
  )

  it.effect("a balance has every digit", () =>
    Effect.gen(function* () {
      const rpc = yield* EvmRpc.make({ balance: 340282366920938463463374607431768211455n })
      const relayer = yield* relayerAt([rpc.url])
      assert.include((yield* relayer.get("balance")).text, `"balance":340282366920938463463374607431768211455,`)
    })
  )

  it.effect("a key that may only read cannot check, and a narrowed key sees only its relayers", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const rpc = yield* EvmRpc.make()
      const [mine, other] = [yield* relayerAt([rpc.url]), yield* relayerAt([rpc.url])]
      const body = { name: "reader", scopes: ["relayers:read"], relayer_ids: [mine.id] }
      const { json } = yield* api.call("/api/v1/api-keys", { body })
      const { key } = json.data as { readonly key: string }
      for (const name of ["status", "balance", "explain"]) {
        assert.strictEqual((yield* api.call(`${mine.path}/${name}`, { key })).status, 200, name)
        assert.strictEqual((yield* api.call(`${other.path}/${name}`, { key })).status, 403, name)
        assert.strictEqual((yield* api.call(`${mine.path}/${name}`, { key: null })).status, 401, name)
        assert.strictEqual((yield* api.call(`/api/v1/relayers/nobody/${name}`)).status, 404, name)
      }
      assert.strictEqual((yield* api.call(`${mine.path}/check`, { method: "POST", key })).status, 403)
      assert.strictEqual((yield* api.call("/api/v1/relayers/nobody/check", { method: "POST" })).status, 404)
    })
  )
})
