// Debug metadata, metrics, readiness and the documents, over HTTP.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { evmRelayer, signer } from "../../../testkit/fixtures.ts"
import { version } from "../../../src/api/Version.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

interface Pagination {
  readonly current_page: number
  readonly per_page: number
  readonly total_items: number
}

interface Trace {
  readonly name: string
  readonly trace_id: string
  readonly parent_span_id?: string
  readonly attributes: Readonly<Record<string, unknown>>
}

const debug = { "x-relayer-debug": "true" }

layer(TestApi.layer())("the system's own endpoints", (it) => {
  it.effect("debug metadata contains the log records and spans of its own request only", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const created = yield* api.call("/api/v1/signers", { body: signer, headers: debug })
      const { logs, traces } = created.json.metadata ?? { logs: [], traces: [] }
      assert.deepInclude(logs, { level: "info", message: "signer created signer_id=signer-1 type=plain" })
      const spans = traces as ReadonlyArray<Trace>
      assert.includeMembers(
        spans.map(({ name }) => name),
        ["signers.create", "Signers.create", "Secrets.seal", "SignersRepo.insert"]
      )
      assert.strictEqual(new Set(spans.map(({ trace_id }) => trace_id)).size, 1)
      assert.isUndefined(spans[0]?.parent_span_id)
      assert.notInclude(created.text, "INSERT INTO")
      // The metadata contains neither the address nor the name of the database.
      assert.deepStrictEqual(
        [...new Set(spans.flatMap(({ attributes }) => Object.keys(attributes)))],
        ["db.system.name"]
      )

      const { notification_id: _, ...body } = evmRelayer
      const relayer = yield* api.call("/api/v1/relayers", { body, headers: debug })
      const read = yield* api.call("/api/v1/relayers/relayer-1", { headers: debug })
      yield* api.call("/api/v1/relayers/relayer-1", { method: "DELETE" })
      for (const [{ json }, query] of [
        [relayer, "RelayersRepo.insertAll"],
        [read, "RelayersRepo.findAll"]
      ] as const) {
        const names = ((json.metadata?.traces ?? []) as ReadonlyArray<Trace>).map(({ name }) => name)
        assert.include(names, query)
      }

      const listed = yield* api.call("/api/v1/signers", { headers: debug })
      assert.notInclude(listed.text, "signer created")
      assert.isUndefined((yield* api.call("/api/v1/signers")).json.metadata)
      const refused = yield* api.call("/api/v1/signers/none", { headers: debug })
      assert.deepStrictEqual(Object.keys(refused.json).sort(), ["data", "message", "success"])
      const stranger = yield* api.call("/api/v1/signers", { key: null, headers: debug })
      assert.isUndefined(stranger.json.metadata)
    })
  )

  it.effect("debug metadata for a key that is limited to relayers names no repository, statement or database", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const { notification_id: _, ...relayer } = evmRelayer
      yield* Prepared.create("signers", { ...signer, id: "narrow" })
      yield* Prepared.create("relayers", { ...relayer, id: "narrow", signer_id: "narrow" })
      const key = yield* Prepared.createKey({ scopes: ["relayers:read", "transactions:read"], relayer_ids: ["narrow"] })
      for (const path of ["/narrow", "", "/narrow/transactions", "/narrow/explain"]) {
        const { json } = yield* api.call(`/api/v1/relayers${path}`, { key, headers: debug })
        const spans = (json.metadata?.traces ?? []) as ReadonlyArray<Trace>
        const names = spans.map(({ name }) => name)
        assert.include(names, "database", path)
        assert.isEmpty(
          names.filter((name) => /repo|sql|postgres|ledgermark/i.test(name)),
          path
        )
        assert.isEmpty(
          spans.filter(({ attributes }) => Object.keys(attributes).some((name) => name.startsWith("db."))),
          path
        )
      }
      yield* api.call("/api/v1/relayers/narrow", { method: "DELETE" })
    })
  )

  it.effect("metrics are served as a JSON list of names and in the format of Prometheus", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* Prepared.create("signers", { ...signer, id: "counted" })
      const { notification_id: _, ...relayer } = evmRelayer
      yield* Prepared.create("relayers", { ...relayer, id: "counted", signer_id: "counted" })
      yield* api.call("/api/v1/relayers/none")
      // A job counts the relayers every ten seconds.
      yield* Effect.repeat(
        Effect.andThen(TestClock.adjust("10 seconds"), api.call("/metrics/relayers", { key: null })),
        { until: ({ text }) => text.includes('relayers{network_type="evm",state="active"} 1') }
      )
      const names = yield* api.call("/metrics", { key: null })
      assert.match(names.headers.get("content-type") ?? "", /^application\/json/)
      const listed: ReadonlyArray<string> = JSON.parse(names.text)
      assert.includeMembers([...listed], ["requests_total", "request_latency_seconds", "relayers"])

      const accept = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"
      const scraped = yield* api.call("/metrics", { key: null, headers: { accept } })
      assert.match(scraped.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/)
      for (const { headers } of [names, scraped]) assert.include(headers.get("vary") ?? "", "Accept, Accept-Encoding")
      assert.match(
        scraped.text,
        /requests_total\{endpoint="\/api\/v1\/relayers\/:relayer_id",method="GET",status="404"\} [1-9]/
      )
      assert.match(scraped.text, /database_query_seconds_count\{query="RelayersRepo.findAll"\} [1-9]/)
      assert.include(scraped.text, `\nbuild_info{version="${version}"} 1\n`)
      assert.match(scraped.text, /\nrelayers\{network_type="evm",state="active"\} 1\n/)
      assert.match(scraped.text, /\nrelayers\{network_type="stellar",state="paused"\} 0\n/)
      assert.match(scraped.text, /database_connections\{state="\w+"\} [1-9]/)
      assert.notInclude(scraped.text, "none")
      assert.strictEqual((yield* api.call("/debug/metrics/scrape", { key: null })).status, 200)

      for (const name of listed) {
        const one = yield* api.call(`/metrics/${name}`, { key: null })
        assert.strictEqual(one.status, 200)
        for (const line of one.text.split("\n")) assert.isTrue(line === "" || line.includes(name), line)
      }
      assert.include((yield* api.call("/metrics/requests_total", { key: null })).text, "# TYPE requests_total counter")
    })
  )

  it.effect("all unknown paths share one series of the metrics", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      for (const path of ["/a", "/b", "/api/v1/c"]) yield* api.call(path)
      const { text } = yield* api.call("/metrics/requests_total", { key: null })
      assert.include(text, `endpoint="unmatched"`)
      assert.notMatch(text, /endpoint="[^"]*\/(a|b|c)"/)
    })
  )

  it.effect("an instance is ready while the database answers and has the schema of this version", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      const healthy = { status: "healthy" }
      const ready = yield* api.call("/api/v1/ready", { key: null })
      assert.strictEqual(ready.status, 200)
      assert.deepStrictEqual(ready.json, {
        ready: true,
        status: "healthy",
        version,
        components: {
          database: healthy,
          process: healthy,
          jobs: {
            status: "healthy",
            audit: "healthy",
            deliveries: "off",
            events: "healthy",
            gauges: "healthy",
            health_checks: "off",
            lanes: "off",
            retention: "off"
          },
          audit: healthy,
          events: healthy,
          rows: healthy
        }
      } as object)
      yield* sql`UPDATE effect_relayer_migrations SET migration_id = migration_id - 100`
      const behind = yield* api.call("/api/v1/ready", { key: null })
      assert.strictEqual(behind.status, 503)
      assert.include(behind.text, `"database":{"status":"unhealthy"}`)
      yield* sql`UPDATE effect_relayer_migrations SET migration_id = migration_id + 100`
    })
  )

  it.effect("the numbers of pages and of items per page are bounded, and wrong numbers are refused", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const page = (query: string) =>
        Effect.map(api.call(`/api/v1/networks${query}`), ({ status, json }) => {
          assert.strictEqual(status, 200)
          const { total_items, ...served } = json.pagination as Pagination
          assert.isAbove(total_items, 30)
          return { items: (json.data as ReadonlyArray<unknown>).length, ...served }
        })
      const huge = Number.MAX_SAFE_INTEGER
      assert.deepStrictEqual(yield* page(""), { items: 10, current_page: 1, per_page: 10 })
      assert.deepStrictEqual(yield* page("?page=0"), { items: 10, current_page: 1, per_page: 10 })
      assert.deepStrictEqual(yield* page("?per_page=0"), { items: 0, current_page: 1, per_page: 0 })
      assert.deepStrictEqual(yield* page("?page=2&per_page=30"), { items: 7, current_page: 2, per_page: 30 })
      assert.deepStrictEqual((yield* page("?per_page=5000")).per_page, 1000)
      assert.deepStrictEqual(yield* page("?page=99"), { items: 0, current_page: 99, per_page: 10 })
      assert.deepStrictEqual(yield* page(`?page=${"9".repeat(40)}`), { items: 0, current_page: huge, per_page: 10 })
      for (const list of ["relayers", "signers", "notifications"]) {
        for (const query of [`?page=${"9".repeat(40)}&per_page=${"9".repeat(40)}`, "?page=0&per_page=0"]) {
          assert.strictEqual((yield* api.call(`/api/v1/${list}${query}`)).status, 200)
        }
      }
    })
  )

  it.effect("a network is read by its id", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const { json } = yield* api.call("/api/v1/networks/evm:sepolia")
      assert.deepInclude(json.data as object, {
        id: "evm:sepolia",
        chain_id: 11155111,
        is_testnet: true,
        symbol: "ETH"
      })
      assert.include((yield* api.call("/api/v1/networks/stellar:testnet")).text, "Test SDF Network ; September 2015")
    })
  )
})
