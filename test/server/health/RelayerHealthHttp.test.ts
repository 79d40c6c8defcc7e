// Status, balance, check and explanation of a relayer over HTTP, with test servers as its chain.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import { secret } from "../../../testkit/RpcServer.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { relayerAt } from "./RelayerAt.ts"

type Rpc = Effect.Success<ReturnType<typeof EvmRpc.make>>

const masked = (url: string) => `${new URL(url).origin}/***`

const live = Layer.provideMerge(TestApi.layer(), Logger.layer([]))

layer(live, { excludeTestServices: true })("the health of a relayer", (it) => {
  it.effect("status reads the chain now, with amounts as decimal strings and masked URLs", () =>
    Effect.gen(function* () {
      const rpc = yield* EvmRpc.make({ balance: 2n ** 128n - 1n, nonce: 2n ** 60n })
      const relayer = yield* relayerAt([rpc.url])
      const { status, json, text } = yield* relayer.get("status")
      assert.strictEqual(status, 200, text)
      const { read_at, next_check_at, ...data } = json.data as Record<string, unknown>
      assert.deepStrictEqual(data, {
        network_type: "evm",
        balance: String(2n ** 128n - 1n),
        nonce: String(2n ** 60n),
        pending_transactions_count: 0,
        live: true,
        paused: false,
        system_disabled: false,
        health: "unknown",
        providers: [{ url: masked(rpc.url), weight: 100, breaker: "closed", failed: false }]
      })
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

  it.effect("two failed checks disable, one successful check enables, and each step is explained", () =>
    Effect.gen(function* () {
      const rpc = yield* EvmRpc.make({ balance: 10n })
      const relayer = yield* relayerAt([rpc.url], { min_balance: 100 })
      const api = yield* TestApi.TestApi
      const explain = Effect.map(relayer.get("explain"), ({ json }) => json.data as Record<string, unknown>)

      const unknown = yield* explain
      assert.deepStrictEqual([unknown.state, unknown.code, unknown.since], ["unknown", "not_checked", undefined])

      yield* relayer.check()
      const failing = yield* explain
      assert.deepStrictEqual([failing.state, failing.code], ["failing", "BalanceCheckFailed"])
      assert.include(String(failing.next), "disabled if that check fails too")
      const { address } = (yield* api.call(relayer.path)).json.data as { readonly address: string }
      assert.include(String(failing.next), `Send at least 90 wei to ${address} on evm:sepolia: it has 10 of the 100`)
      assert.deepStrictEqual(failing.funding, {
        address,
        network: "evm:sepolia",
        unit: "wei",
        balance: "10",
        min_balance: "100",
        missing: "90"
      })

      const second = yield* relayer.check()
      const { health, system_disabled, disabled_reason } = second.json.data as Record<string, unknown>
      const reason = {
        type: "BalanceCheckFailed",
        details: "2 checks in a row failed: the balance is below min_balance"
      }
      assert.deepStrictEqual({ health, system_disabled, disabled_reason }, {
        health: "disabled",
        system_disabled: true,
        disabled_reason: reason
      } as object)
      const shown = yield* api.call(relayer.path)
      assert.deepStrictEqual((shown.json.data as Record<string, unknown>).disabled_reason, reason)
      assert.match(shown.headers.get("etag") ?? "", /\.2"$/)

      yield* api.call(relayer.path, { method: "PATCH", body: { paused: true } })
      const disabled = yield* explain
      assert.deepStrictEqual([disabled.state, disabled.code, disabled.paused], ["disabled", "BalanceCheckFailed", true])
      assert.match(String(disabled.reason), /paused by the operator.*the balance is below min_balance/)
      assert.isDefined(disabled.since)

      rpc.account.balance = 1000n
      yield* relayer.check()
      const healthy = yield* explain
      assert.deepStrictEqual([healthy.state, healthy.code, healthy.funding], ["healthy", "all_well", undefined])
      const listed = yield* api.call("/api/v1/relayers?system_disabled=true")
      assert.notInclude(listed.text, relayer.id)
    })
  )

  it.effect("a relayer with one dead URL of two is degraded, and its status names the URL", () =>
    Effect.gen(function* () {
      const [rpc, dead] = [yield* EvmRpc.make(), yield* EvmRpc.make()]
      dead.fail({ status: 500 })
      const relayer = yield* relayerAt([dead.url, rpc.url])
      // The order of URLs is random: sooner or later the dead URL is called first.
      let degraded: Record<string, unknown> = {}
      while (degraded.health !== "degraded") {
        degraded = (yield* relayer.check()).json.data as Record<string, unknown>
        assert.isFalse(degraded.system_disabled)
      }
      const [first] = degraded.providers as ReadonlyArray<Record<string, unknown>>
      assert.deepStrictEqual([first?.url, first?.failed], [masked(dead.url), true])
      const { json } = yield* relayer.get("explain")
      assert.strictEqual((json.data as Record<string, unknown>).code, "provider_failed")
    })
  )

  it.effect("a wrong chain disables at once, and its balance is not shown", () =>
    Effect.gen(function* () {
      const rpc = yield* EvmRpc.make({ chainId: 1n })
      const relayer = yield* relayerAt([rpc.url])
      const { json } = yield* relayer.check()
      assert.deepStrictEqual((json.data as Record<string, unknown>).disabled_reason, {
        type: "ChainIdMismatch",
        details: "the RPC URL serves another chain than the relayer's network"
      })
      const wrong = yield* relayer.get("balance")
      assert.strictEqual(wrong.status, 502)
      assert.include(wrong.json.error, "/***: eth_chainId: serves another chain")
    })
  )

  const answers: ReadonlyArray<readonly [string, (rpc: Rpc) => void, type: string]> = [
    ["HTML", (rpc) => rpc.fail("html"), "RpcValidationFailed"],
    ["a body that is too large", (rpc) => rpc.fail("huge"), "RpcValidationFailed"],
    ["a balance of 2^200", (rpc) => (rpc.account.balance = 2n ** 200n), "BalanceCheckFailed"],
    ["a nonce of 2^200", (rpc) => (rpc.account.nonce = 2n ** 200n), "NonceSyncFailed"]
  ]
  it.effect.each(answers)(
    "a relayer whose chain answers with %s is disabled with a reason until the answers are valid again",
    (given) =>
      Effect.gen(function* () {
        const [, misbehave, type] = given
        const rpc = yield* EvmRpc.make()
        const relayer = yield* relayerAt([rpc.url])
        const other = yield* relayerAt([(yield* EvmRpc.make()).url])
        const { balance, nonce } = rpc.account
        yield* relayer.check()
        misbehave(rpc)
        yield* relayer.check()
        const disabled = (yield* relayer.check()).json.data as Record<string, unknown>
        assert.deepInclude(disabled, { health: "disabled", system_disabled: true })
        assert.deepInclude(disabled.disabled_reason as object, { type })
        const explained = (yield* relayer.get("explain")).json.data as Record<string, unknown>
        assert.deepInclude(explained, { state: "disabled", code: type })
        assert.deepInclude((yield* other.check()).json.data as object, { health: "healthy" })
        rpc.recover()
        Object.assign(rpc.account, { balance, nonce })
        assert.deepInclude((yield* relayer.check()).json.data as object, { health: "healthy" })
      })
  )

  it.effect("a repeated check with an idempotency key runs once", () =>
    Effect.gen(function* () {
      const rpc = yield* EvmRpc.make({ balance: 0n })
      const relayer = yield* relayerAt([rpc.url])
      const key = { "idempotency-key": "check-once" }
      const first = yield* relayer.check(key)
      const calls = rpc.count()
      const again = yield* relayer.check(key)
      assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
      assert.strictEqual(again.text, first.text)
      assert.strictEqual(rpc.count(), calls)
      assert.strictEqual((first.json.data as Record<string, unknown>).health, "failing")
    })
  )

  it.effect("concurrent checks of one relayer, with and without idempotency keys, all succeed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rpc = yield* EvmRpc.make()
      const relayer = yield* relayerAt([rpc.url])
      const keys = Array.from({ length: 8 }, (_, index) =>
        index % 2 === 0 ? {} : { "idempotency-key": `at-once-${index}` }
      )
      const answers = yield* Effect.forEach(keys, (headers) => relayer.check(headers), { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
      const [row] = yield* sql`SELECT state ->> 'status' AS status FROM relayer_checks WHERE relayer_id = ${relayer.id}`
      assert.deepStrictEqual(row, { status: "healthy" })
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

  it.effect("checks are counted and timed", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const rpc = yield* EvmRpc.make()
      const relayer = yield* relayerAt([rpc.url])
      yield* relayer.check()
      const { text } = yield* api.call("/debug/metrics/scrape", { key: null })
      assert.match(text, /health_checks_total\{network_type="evm",outcome="ok"\} [1-9]/)
      assert.match(text, /health_check_seconds_count\{network_type="evm"\} [1-9]/)
    })
  )
})
