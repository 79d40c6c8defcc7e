// The request pipeline, which is the same for all endpoints: request ids, time limits, headers, and responses to faults.
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { inFlightRequests } from "../../../src/server/http/MiddlewareHttp.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const relayers = "/api/v1/relayers"

layer(TestApi.layer())("the request pipeline", (it) => {
  it.effect("two Authorization headers are refused", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const headers = { authorization: `Bearer ${TestApi.apiKey}, Bearer ${TestApi.apiKey}` }
      assert.strictEqual((yield* api.call(relayers, { key: null, headers })).status, 401)
    })
  )

  it.effect("a valid request id is returned, an invalid one is replaced", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sane = yield* api.call(relayers, { headers: { "x-request-id": "trace-1.2:3" } })
      assert.strictEqual(sane.headers.get("x-request-id"), "trace-1.2:3")
      const insane = yield* api.call(relayers, { headers: { "x-request-id": "<script>" } })
      assert.match(insane.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/)
    })
  )

  it.effect("responses are no-store and nosniff, and do not name the server", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const calls: ReadonlyArray<readonly [string, TestApi.Call]> = [
        [relayers, {}],
        [relayers, { key: null }],
        [relayers, { body: "{" }],
        [relayers, { method: "PUT" }],
        ["/v1/health", {}],
        ["/metrics", {}],
        ["/nothing", {}]
      ]
      for (const [path, call] of calls) {
        const { headers } = yield* api.call(path, call)
        assert.strictEqual(headers.get("cache-control"), "no-store", path)
        assert.strictEqual(headers.get("x-content-type-options"), "nosniff", path)
        assert.isNull(headers.get("server"), path)
        assert.isNull(headers.get("x-powered-by"), path)
      }
    })
  )

  it.effect("a trailing slash is the same route, and HEAD is GET without a body", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      assert.strictEqual((yield* api.call(`${relayers}/`)).status, 200)
      assert.strictEqual((yield* api.call("/v1/health/", { key: null })).text, "OK")
      const head = yield* api.call(relayers, { method: "HEAD" })
      assert.strictEqual(head.status, 200)
      assert.strictEqual(head.text, "")
    })
  )

  it.effect("health is text, open to everyone, at both of its paths", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      for (const path of ["/v1/health", "/api/v1/health"]) {
        const answer = yield* api.call(path, { key: null })
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(answer.text, "OK")
        assert.match(answer.headers.get("content-type") ?? "", /^text\/plain/)
        assert.isNull(answer.headers.get("ratelimit"))
      }
    })
  )

  it.effect("an internal fault is answered with an envelope without details", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      yield* sql`ALTER TABLE notifications RENAME COLUMN url TO broken`
      const answer = yield* api.call("/api/v1/notifications")
      assert.strictEqual(answer.status, 500)
      assert.deepStrictEqual(answer.json, { data: null, message: "Internal Server Error", success: false })
    }).pipe(Effect.provide(TestApi.layer()))
  )

  it.effect("a request over the time limit gets 503 with Retry-After", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      const { json } = yield* api.call("/api/v1/api-keys", { body: { name: "k", scopes: ["relayers:read"] } })
      const { key } = json.data as { readonly key: string }
      const calls: ReadonlyArray<readonly [path: string, key?: string]> = [
        ["/api/v1/notifications"],
        ["/api/v1/relayers?sort=name"],
        ["/api/v1/relayers"],
        ["/api/v1/relayers/a"],
        // These wait for the key.
        ["/api/v1/relayers", key],
        ["/api/v1/unknown", key]
      ]
      const answers = yield* sql.withTransaction(
        Effect.andThen(
          sql`LOCK TABLE notifications, relayers, api_keys`,
          Effect.forEach(calls, ([path, key = TestApi.apiKey]) => api.call(path, { key }), { concurrency: "unbounded" })
        )
      )
      for (const [index, { status, headers, json }] of answers.entries()) {
        assert.strictEqual(status, 503, calls[index]?.[0])
        assert.strictEqual(headers.get("retry-after"), "1")
        assert.deepStrictEqual(json, { data: null, message: "Service Unavailable", success: false })
      }
    }).pipe(Effect.provide(TestApi.layer({ server: { requestTimeoutMs: 2000, maxBodyBytes: 1024 } })))
  )

  it.effect("a request is interrupted when its client disconnects", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      const inFlight = (count: number) =>
        Effect.repeat(Effect.andThen(turn, Metric.value(inFlightRequests)), {
          until: ({ value }) => value === count
        })
      const headers = { authorization: `Bearer ${TestApi.apiKey}` }
      for (const path of ["/api/v1/relayers", "/api/v1/relayers/a", "/api/v1/relayers?sort=name"]) {
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`LOCK TABLE relayers`
            const request = yield* Effect.forkChild(
              Effect.promise((signal) => fetch(`${baseUrl}${path}`, { headers, signal }))
            )
            yield* inFlight(1)
            yield* Fiber.interrupt(request)
            yield* inFlight(0)
          })
        )
      }
    })
  )
})
