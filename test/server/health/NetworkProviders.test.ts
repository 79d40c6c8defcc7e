// The health of a network's providers, from the last checks of its relayers.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { authenticateRows } from "../../../testkit/authenticateRows.ts"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as RpcServer from "../../../testkit/RpcServer.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const hosts = ["one", "two", "three"] as const
const urls = hosts.map((host) => `https://${host}.example.com/key`)
const maskOf = (host: (typeof hosts)[number]) => `https://${host}.example.com/***`

interface Provider {
  readonly url: string
  readonly weight: number
  readonly state: string
  readonly relayers: number
  readonly failing: number
  readonly code?: string
  readonly error?: string
  readonly since?: string
  readonly p50_ms?: number
  readonly p95_ms?: number
}

const list = Effect.fnUntraced(function* (network: string) {
  const { status, text, json } = yield* TestApi.call(`/api/v1/networks/${network}/providers`)
  assert.strictEqual(status, 200, text)
  return json.data as ReadonlyArray<Provider>
})

/** r1 and r2 ask the network's URLs, and the second one has failed r2. r3 has URLs of its own, with the third mask. */
const prepare = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* TestApi.call("/api/v1/networks/evm:sepolia", { method: "PATCH", body: { rpc_urls: urls } })
  yield* LedgerRows.insertRelayers(3)
  const provider = (url: string, failure: object = {}) => ({
    url,
    weight: 100,
    breaker: "closed",
    failed: false,
    ...failure
  })
  const failure = { failed: true, code: "rate_limited", error: "eth_getBalance: HTTP 429" }
  const readings = {
    r1: [provider(maskOf("one"), { latency_ms: 40 }), provider(maskOf("two"))],
    r2: [provider(maskOf("one"), { latency_ms: 180 }), provider(maskOf("two"), failure)],
    r3: [provider(maskOf("three"), failure)]
  }
  for (const [id, providers] of Object.entries(readings)) {
    const reading = JSON.stringify({ network_type: "evm", failures: [], providers })
    yield* sql`
      UPDATE relayer_checks SET reading = ${reading}::text::json, checked_at = now(), since = '2026-01-02T03:04:05Z'
      WHERE relayer_id = ${id}`
  }
  yield* sql`UPDATE relayers SET custom_rpc_urls = ${JSON.stringify([{ url: maskOf("three"), weight: 100 }])}::text::json WHERE id = 'r3'`
  yield* authenticateRows()
})

layer(Prepared.layer(prepare))("the providers of a network", (it) => {
  it.effect("are its masked URLs in their order, with what the last checks of its relayers found", () =>
    Effect.gen(function* () {
      const [one, two, three] = yield* list("evm:sepolia")
      assert.deepInclude(one, { url: maskOf("one"), state: "working", relayers: 2, failing: 0 })
      assert.notProperty(one, "since")
      assert.deepStrictEqual([one?.p50_ms, one?.p95_ms, two?.p50_ms, two?.p95_ms], [40, 180, undefined, undefined])
      assert.deepInclude(two, {
        url: maskOf("two"),
        state: "failing",
        relayers: 2,
        failing: 1,
        code: "rate_limited",
        error: "eth_getBalance: HTTP 429"
      })
      assert.match(two?.since ?? "", /^2026-01-02T03:04:05/)
      assert.deepStrictEqual(three, { url: maskOf("three"), weight: 100, state: "unknown", relayers: 0, failing: 0 })
    })
  )

  it.effect("are unknown before a check, and need the scope networks:read", () =>
    Effect.gen(function* () {
      const unchecked = yield* list("stellar:testnet")
      assert.isNotEmpty(unchecked)
      for (const { state } of unchecked) assert.strictEqual(state, "unknown")
      const key = yield* Prepared.createKey({ scopes: ["relayers:read"] })
      assert.strictEqual((yield* TestApi.call("/api/v1/networks/evm:sepolia/providers", { key })).status, 403)
      assert.strictEqual((yield* TestApi.call("/api/v1/networks/evm:nowhere/providers")).status, 404)
      assert.strictEqual((yield* TestApi.call("/api/v1/networks/abc/providers")).status, 400)
    })
  )

  it.effect("say with check which chain they serve now and what they can do, and nothing without it", () =>
    Effect.gen(function* () {
      const able = Effect.fnUntraced(function* (chainId = 11155111n) {
        const server = yield* EvmRpc.make({ chainId })
        server.results.set("web3_clientVersion", () => "Geth/v1.16.9-stable/linux-amd64/go1.25")
        server.results.set("eth_feeHistory", () => ({ oldestBlock: "0x1" }))
        server.results.set("eth_getBlockByNumber", () => ({ number: "0x1", hash: "0xaa" }))
        return server
      })
      const archive = yield* able()
      const plain = yield* able()
      plain.refuseBatches()
      plain.results.set("web3_clientVersion", () => `proxy/${RpcServer.secret}`)
      plain.results.set("eth_getBlockByNumber", () => null)
      for (const method of ["eth_feeHistory", "eth_getBalance"]) plain.fail({ error: -32601 }, { method })
      const other = yield* able(1n)
      const rpc_urls = [archive.url, plain.url, other.url]
      const body = { network_type: "evm", name: "checked", from: "sepolia", rpc_urls }
      const created = yield* TestApi.call("/api/v1/networks?check=true", { body })
      assert.strictEqual(created.status, 201, created.text)
      assert.include(created.text, "takes no batches, so that it gets more requests")
      assert.include(created.text, "has no fee history")
      assert.include(created.text, "serves another chain")
      assert.notInclude(created.text, RpcServer.secret)

      for (const provider of yield* list("evm:checked")) assert.notProperty(provider, "batch_size")
      const { text, json } = yield* TestApi.call("/api/v1/networks/evm:checked/providers?check=true")
      assert.notInclude(text, RpcServer.secret)
      const [first, second, third] = json.data as ReadonlyArray<object>
      assert.deepInclude(first, {
        state: "working",
        batch_size: 50,
        client_version: "Geth/v1.16.9-stable",
        finalized: true,
        fee_history: true,
        archive: true
      })
      assert.property(first, "latency_ms")
      assert.deepInclude(second, {
        state: "working",
        batch_size: 1,
        finalized: false,
        fee_history: false,
        archive: false
      })
      assert.notProperty(second, "client_version")
      assert.deepInclude(third, { state: "failing", code: "mismatch" })
      assert.notProperty(third, "archive")
    })
  )
})
