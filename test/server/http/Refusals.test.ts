// A refused request costs one authentication and one token of the bucket, and counts once in the metrics.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as TestApi from "../../../testkit/TestApi.ts"

const count = (exposition: string, series: string): number => {
  const line = exposition.split("\n").find((line) => line.startsWith(`${series} `))
  return line === undefined ? 0 : Number(line.slice(series.length + 1))
}

const metric = (name: string, series = name) =>
  Effect.gen(function* () {
    const api = yield* TestApi.TestApi
    return count((yield* api.call(`/metrics/${name}`, { key: null })).text, series)
  })

/** Sends `times` requests, and returns their statuses and the increase of the metric. */
const growth = Effect.fnUntraced(function* (
  measured: ReturnType<typeof metric>,
  times: number,
  call: ReturnType<TestApi.TestApi["Service"]["call"]>
) {
  const before = yield* measured
  const answers = yield* Effect.replicateEffect(call, times)
  return { statuses: answers.map(({ status }) => status), growth: (yield* measured) - before }
})

const reads = ["/api/v1/relayers", "/api/v1/relayers/a", "/api/v1/networks"]

layer(TestApi.layer())("a refused request", (it) => {
  it.effect("is looked up once if its key may not read", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const { json } = yield* api.call("/api/v1/api-keys", { body: { name: "k", scopes: ["signers:read"] } })
      const { key } = json.data as { readonly key: string }
      const lookups = metric("database_query_seconds", 'database_query_seconds_count{query="ApiKeysRepo.findByHashes"}')
      for (const path of reads) {
        const refused = yield* growth(lookups, 5, api.call(path, { key }))
        assert.deepStrictEqual(refused, { statuses: [403, 403, 403, 403, 403], growth: 5 }, path)
      }
    })
  )

  it.effect("counts once as unauthorized", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      for (const path of reads) {
        const refused = yield* growth(metric("unauthorized_requests_total"), 3, api.call(path, { key: "unknown" }))
        assert.deepStrictEqual(refused, { statuses: [401, 401, 401], growth: 3 }, path)
      }
    })
  )

  it.effect("takes one token and counts once as rate limited", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const call = api.call("/api/v1/relayers")
      const refused = yield* growth(metric("rate_limited_requests_total"), 10, call)
      assert.deepStrictEqual(refused, {
        statuses: [200, 200, 200, 429, 429, 429, 429, 429, 429, 429],
        growth: 7
      })
    }).pipe(Effect.provide(TestApi.layer({ limits: { requestsPerSecond: 0.1, burst: 3 } })))
  )

  it.effect("counts as one request of its route", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const series = 'requests_total{endpoint="/api/v1/relayers",method="GET",status="401"}'
      const refused = yield* growth(
        metric("requests_total", series),
        2,
        api.call("/api/v1/relayers", { key: "unknown" })
      )
      assert.deepStrictEqual(refused, { statuses: [401, 401], growth: 2 })
    })
  )
})
