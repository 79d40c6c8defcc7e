import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as TestApi from "../../../testkit/TestApi.ts"

const path = "/api/v1/relayers"
const origin = "https://console.example.com"
const preflight = { origin, "access-control-request-method": "PATCH", "access-control-request-headers": "if-match" }

const server = { requestTimeoutMs: 30_000, maxBodyBytes: 1024 }

layer(TestApi.layer({ server: { ...server, corsOrigins: [origin] } }))("a browser on an allowed origin", (it) => {
  it.effect("gets a response to a preflight without a key", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const { status, headers, text } = yield* call(path, { method: "OPTIONS", key: null, headers: preflight })
      assert.deepStrictEqual([status, text], [204, ""])
      assert.strictEqual(headers.get("access-control-allow-origin"), origin)
      assert.include(headers.get("access-control-allow-methods") ?? "", "PATCH")
      assert.include(headers.get("access-control-allow-headers") ?? "", "if-match")
      assert.strictEqual(headers.get("vary"), "Origin")
      assert.isNotNull(headers.get("x-request-id"))
    })
  )

  it.effect("may read responses and their headers, also if the request is refused", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      for (const key of [TestApi.apiKey, null]) {
        const { headers } = yield* call(path, { key, headers: { origin } })
        assert.strictEqual(headers.get("access-control-allow-origin"), origin)
        assert.include(headers.get("access-control-expose-headers") ?? "", "etag")
        assert.isNull(headers.get("access-control-allow-credentials"))
      }
    })
  )

  it.effect("is allowed, and a browser on another origin is not", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const other = { ...preflight, origin: "https://evil.example.com" }
      for (const method of ["OPTIONS", "GET"]) {
        const { headers } = yield* call(path, { method, headers: other })
        assert.isNull(headers.get("access-control-allow-origin"))
        assert.include(headers.get("vary") ?? "", "Origin")
      }
    })
  )

  it.effect("does not change the responses to other clients", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const { headers } = yield* call(path)
      assert.isNull(headers.get("access-control-allow-origin"))
      assert.strictEqual((yield* call(path, { method: "OPTIONS" })).headers.get("allow"), "GET, HEAD, OPTIONS, POST")
    })
  )
})

layer(TestApi.layer({ server }))("a browser on any origin", (it) => {
  it.effect("may not call if no origin is allowed", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const refused = yield* call(path, { method: "OPTIONS", key: null, headers: preflight })
      assert.strictEqual(refused.status, 401)
      const { headers } = yield* call(path, { headers: { origin } })
      for (const name of headers.keys()) assert.notMatch(name, /^access-control-/)
    })
  )
})
