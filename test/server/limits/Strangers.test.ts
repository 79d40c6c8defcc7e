// Clients without a valid API key: refusals, documents and metrics.
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { makeAddressLimit } from "../../../src/server/limits/Strangers.ts"
import { makeKey } from "../../../src/server/access/KeyChanges.ts"
import * as Server from "../../../src/server/Server.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const statusesOf = Effect.fnUntraced(function* (count: number, path: string, options: () => TestApi.Call) {
  const answers = yield* Effect.forEach(Array.from({ length: count }), () => TestApi.call(path, options()), {
    concurrency: 20
  })
  return new Map([...Map.groupBy(answers, ({ status }) => status)].map(([status, of]) => [status, of.length]))
})

const lookups = Effect.map(TestApi.call("/metrics/database_query_seconds"), ({ text }) =>
  Number(/_count\{query="ApiKeysRepo.findByHashes"\} (\d+)/.exec(text)?.[1] ?? 0)
)

describe("AddressLimit", () => {
  it("gives each address a burst, and refills it with time", () => {
    let now = 0
    const limit = makeAddressLimit({ burst: 3, perSecond: 2 }, () => now)
    const take = (address: string) => [1, 2, 3, 4].map(() => limit.take(address))
    assert.deepStrictEqual(take("192.0.2.1"), [true, true, true, false])
    assert.isTrue(limit.isEmpty("192.0.2.1"))
    assert.isFalse(limit.isEmpty("192.0.2.2"))
    now += 500
    assert.deepStrictEqual(take("192.0.2.1"), [true, false, false, false])
    now += 60_000
    assert.deepStrictEqual(take("192.0.2.1"), [true, true, true, false])
  })

  it("counts the addresses of an IPv6 network of 64 bits together", () => {
    const limit = makeAddressLimit({ burst: 1, perSecond: 1 }, () => 0)
    const addresses = ["2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"]
    assert.deepStrictEqual(
      addresses.map((address) => limit.take(address)),
      [true, false, true]
    )
  })

  it("remembers no more than 10,000 addresses", () => {
    const limit = makeAddressLimit({ burst: 1, perSecond: 1 }, () => 0)
    limit.take("first")
    for (let n = 0; n < 10_000; n++) limit.take(`192.0.${n >> 8}.${n & 255}`)
    assert.isFalse(limit.isEmpty("first"))
    assert.isTrue(limit.isEmpty("192.0.0.1"))
  })

  it("does not limit an unknown address", () => {
    const limit = makeAddressLimit({ burst: 0, perSecond: 1 }, () => 0)
    assert.isTrue(limit.take(undefined))
    assert.isFalse(limit.isEmpty(undefined))
  })
})

layerEach(TestApi.layer())("an address that sends many unknown keys", (it) => {
  it.effect("gets 429 without a lookup, while its valid keys and health work", () =>
    Effect.gen(function* () {
      const created = yield* TestApi.call("/api/v1/api-keys", { body: { name: "x", scopes: ["relayers:read"] } })
      const { key } = created.json.data as { readonly key: string }
      assert.strictEqual((yield* TestApi.call("/api/v1/relayers", { key })).status, 200)
      const unknown = () => ({ key: Redacted.value(makeKey()) })
      const first = yield* statusesOf(400, "/api/v1/relayers", unknown)
      assert.deepStrictEqual(Object.fromEntries(first), { 401: 200, 429: 200 })
      const before = yield* lookups
      const next = yield* statusesOf(100, "/api/v1/relayers", unknown)
      assert.deepStrictEqual(Object.fromEntries(next), { 429: 100 })
      assert.strictEqual((yield* lookups) - before, 0)
      assert.strictEqual((yield* TestApi.call("/api/v1/relayers", { key })).status, 200)
      assert.strictEqual((yield* TestApi.call("/api/v1/relayers")).status, 200)
      assert.strictEqual((yield* TestApi.call("/v1/health", { key: null })).status, 200)
      assert.strictEqual((yield* TestApi.call("/api/v1/ready", { key: null })).status, 200)
      const malformed = yield* statusesOf(100, "/api/v1/unknown", () => ({ key: randomBytes(8).toString("hex") }))
      assert.deepStrictEqual(Object.fromEntries(malformed), { 429: 100 })
    })
  )
})

layerEach(TestApi.layer())("an address that reads documents and metrics", (it) => {
  it.effect("gets 429 with Retry-After beyond its limit, and health, readiness and the API go on", () =>
    Effect.gen(function* () {
      const statuses = yield* statusesOf(300, "/metrics", () => ({ key: null }))
      assert.deepStrictEqual(Object.fromEntries(statuses), { 200: 100, 429: 200 })
      for (const path of [
        "/metrics/relayers",
        "/debug/metrics/scrape",
        "/openapi.json",
        "/openapi.yaml",
        "/docs",
        "/"
      ]) {
        const refused = yield* TestApi.call(path, { method: "HEAD" })
        assert.strictEqual(refused.status, 429)
        assert.strictEqual(refused.headers.get("retry-after"), "1")
      }
      for (const path of ["/v1/health", "/api/v1/health", "/api/v1/ready", "/api/v1/relayers"]) {
        assert.deepStrictEqual([...(yield* statusesOf(300, path, () => ({}))).keys()], [200])
      }
    })
  )
})

const origin = "https://console.example.com"

layerEach(TestApi.layer({ server: { ...Server.defaults, corsOrigins: [origin] } }))(
  "an address without a key",
  (it) => {
    it.effect("gets 429 for paths that do not exist and for wrong methods beyond its limit", () =>
      Effect.gen(function* () {
        const statuses = yield* statusesOf(300, "/nothing", () => ({ key: null }))
        assert.deepStrictEqual(Object.fromEntries(statuses), { 404: 200, 429: 100 })
        for (const method of ["POST", "OPTIONS"]) {
          const refused = yield* TestApi.call("/v1/health", { method, key: null })
          assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [429, "1"], method)
        }
        assert.strictEqual((yield* TestApi.call("/v1/health", { key: null })).status, 200)
      })
    )

    it.effect("gets 429 for preflights beyond its limit, and its requests go on", () =>
      Effect.gen(function* () {
        const headers = { origin, "access-control-request-method": "PATCH" }
        const statuses = yield* statusesOf(700, "/api/v1/relayers", () => ({ method: "OPTIONS", key: null, headers }))
        assert.deepStrictEqual(Object.fromEntries(statuses), { 204: 500, 429: 200 })
        assert.strictEqual((yield* TestApi.call("/api/v1/relayers", { headers: { origin } })).status, 200)
      })
    )
  }
)

layerEach(TestApi.layer({ limits: { requestsPerSecond: 0.1, burst: 3 } }))("a caller with a key", (it) => {
  for (const [method, path, status] of [
    ["GET", "/api/v1/nothing", 404],
    ["PUT", "/api/v1/relayers", 405],
    ["OPTIONS", "/api/v1/relayers", 204]
  ] as const) {
    it.effect(`pays for ${method} ${path} as for every request`, () =>
      Effect.gen(function* () {
        const answers = yield* Effect.replicateEffect(TestApi.call(path, { method }), 5)
        assert.deepStrictEqual(
          answers.map((answer) => answer.status),
          [status, status, status, 429, 429]
        )
        assert.include(answers[0]?.headers.get("ratelimit") ?? "", "r=2")
      })
    )
  }
})

const closed = { ...Server.defaults, metricsToken: Redacted.make("token-of-the-scraper"), docs: false }

layer(TestApi.layer({ server: closed }))("an instance with a metrics token and without documents", (it) => {
  for (const path of ["/metrics", "/metrics/relayers", "/debug/metrics/scrape", "/%6detrics"]) {
    it.effect(`shows ${path} to callers with the token only, not to the administrator`, () =>
      Effect.gen(function* () {
        const statuses = []
        for (const key of [null, "token-of-the-scrapeR", TestApi.apiKey, "token-of-the-scraper"]) {
          statuses.push((yield* TestApi.call(path, { key })).status)
        }
        assert.deepStrictEqual(statuses, [401, 401, 401, 200])
      })
    )
  }

  for (const path of ["/", "/favicon.ico", "/docs", "/openapi.json", "/openapi.yaml"]) {
    it.effect(`answers 404 for ${path}, whatever the method`, () =>
      Effect.gen(function* () {
        for (const method of ["GET", "POST", "OPTIONS"])
          assert.strictEqual((yield* TestApi.call(path, { method })).status, 404)
      })
    )
  }
})
