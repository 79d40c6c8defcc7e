// How paths and methods find their endpoint.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as net from "node:net"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

/** Sends a request target unchanged. `fetch` would remove a fragment. */
const status = Effect.fnUntraced(function* (method: string, target: string) {
  const port = Number(new URL((yield* TestApi.TestApi).baseUrl).port)
  const head = `${method} ${target} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${TestApi.apiKey}\r\nconnection: close\r\n\r\n`
  return yield* Effect.callback<string>((resume) => {
    const socket = net.connect(port, "127.0.0.1", () => socket.write(head))
    socket.setEncoding("latin1").once("data", (text) => resume(Effect.succeed(String(text).slice(9, 12))))
    return Effect.sync(() => socket.destroy())
  })
})

layer(TestApi.layer())("a path", (it) => {
  it.effect("is not cut at a semicolon or a number sign", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      yield* Prepared.create("signers", { type: "plain", id: "semi" })
      for (const target of ["semi;other", "semi;", "semi#other", "semi%3Bother", "semi;a?x=1"]) {
        assert.strictEqual(yield* status("DELETE", `/api/v1/signers/${target}`), "400", target)
        assert.strictEqual((yield* call("/api/v1/signers/semi")).status, 200, target)
      }
      assert.strictEqual(yield* status("GET", "/api/v1/signers;a"), "404")
    })
  )

  it.effect("keeps a semicolon of its query", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const { status, json } = yield* call("/api/v1/signers?page=1;2")
      assert.strictEqual(status, 400)
      assert.include(json.error, "page: ")
    })
  )

  it.effect("answers OPTIONS with its methods, to callers with a key", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const allowed = yield* call("/api/v1/relayers/a", { method: "OPTIONS" })
      assert.deepStrictEqual([allowed.status, allowed.text], [204, ""])
      assert.strictEqual(allowed.headers.get("allow"), "DELETE, GET, HEAD, OPTIONS, PATCH")
      assert.strictEqual((yield* call("/api/v1/relayers/a", { method: "OPTIONS", key: null })).status, 401)
      assert.strictEqual((yield* call("/api/v1/nothing", { method: "OPTIONS" })).status, 404)
      const open = yield* call("/openapi.yaml", { method: "OPTIONS", key: null })
      assert.strictEqual(open.headers.get("allow"), "GET, HEAD, OPTIONS")
    })
  )
})
