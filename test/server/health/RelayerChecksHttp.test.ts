// Checks of a relayer over HTTP, and what they explain, with test servers as its chain.
// A URL that is dead is given up by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { insertRelayers } from "./fixtures.ts"
import { relayerAt } from "./RelayerAt.ts"

type Rpc = Effect.Success<ReturnType<typeof EvmRpc.make>>

const masked = (url: string) => `${new URL(url).origin}/***`

const live = Layer.provideMerge(TestApi.layer(), Logger.layer([]))

layer(live, { excludeTestServices: true })("checks of a relayer", (it) => {
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
      assert.deepInclude(json.data as Record<string, unknown>, {
        code: "provider_failed",
        reason: `The relayer works, but not all of its RPC URLs do. RPC URL ${masked(dead.url)}: eth_chainId: HTTP 500.`
      })
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
      const cause = "eth_chainId: serves another chain: it has the chain id 1, and the network has 11155111"
      assert.include(wrong.json.error, `/***: ${cause}`)
      const { reason } = (yield* relayer.get("explain")).json.data as { readonly reason: string }
      assert.include(reason, ` RPC URL ${masked(rpc.url)}: ${cause}.`)
    })
  )

  const answers: ReadonlyArray<readonly [string, (rpc: Rpc) => void, type: string]> = [
    ["HTML", (rpc) => rpc.fail("html"), "RpcValidationFailed"],
    ["a body that is too large", (rpc) => rpc.fail("huge"), "RpcValidationFailed"],
    ["a balance of 2^256", (rpc) => (rpc.account.balance = 2n ** 256n), "BalanceCheckFailed"],
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

  it.effect("new RPC URLs of a network make its disabled relayers due, unless they have URLs of their own", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const api = yield* TestApi.TestApi
      yield* insertRelayers(3)
      yield* sql`UPDATE relayers SET system_disabled = true WHERE id IN ('r1', 'r2')`
      yield* sql`UPDATE relayers SET custom_rpc_urls_sealed = 'own' WHERE id = 'r2'`
      yield* sql`UPDATE relayer_checks SET next_check_at = now() + interval '1 hour', claimed_by = 'running'`
      const due = Effect.map(
        sql`SELECT relayer_id FROM relayer_checks WHERE next_check_at <= now() AND claimed_by IS NULL`,
        (rows) => rows.map(({ relayer_id }) => relayer_id)
      )
      const patch = (network: string, body: object) =>
        Effect.map(api.call(`/api/v1/networks/${network}`, { method: "PATCH", body }), ({ status }) =>
          assert.strictEqual(status, 200)
        )
      const rpc_urls = [{ url: "https://repaired.example", weight: 100 }]
      yield* patch("evm:mainnet", { rpc_urls })
      yield* patch("evm:sepolia", { tags: ["night"] })
      assert.deepStrictEqual(yield* due, [])
      yield* patch("evm:sepolia", { rpc_urls })
      assert.deepStrictEqual(yield* due, ["r1"])
    })
  )
})
