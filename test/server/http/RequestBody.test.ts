// The checks of a request body before it is decoded.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as net from "node:net"
import { gzipSync } from "node:zlib"
import * as TestApi from "../../../testkit/TestApi.ts"

const maxBodyBytes = 1024

const post = Effect.fnUntraced(function* (
  body: Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
  path = "/api/v1/networks",
  method = "POST"
) {
  const { baseUrl } = yield* TestApi.TestApi
  return yield* Effect.promise(async () => {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      body,
      headers: { authorization: `Bearer ${TestApi.apiKey}`, "content-type": "application/json", ...headers }
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  })
})

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

const stored = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ count: bigint }>`SELECT count(*) AS count FROM signers`
  return row?.count
})

/** Sends a head without a body, and returns all bytes that arrive until the service closes the connection. */
const sendHead = Effect.fnUntraced(function* (lines: ReadonlyArray<string>) {
  const { baseUrl } = yield* TestApi.TestApi
  const port = Number(new URL(baseUrl).port)
  const head = ["POST /api/v1/signers HTTP/1.1", "host: a", `authorization: Bearer ${TestApi.apiKey}`, ...lines]
  return yield* Effect.callback<string>((resume) => {
    const socket = net.connect(port, "127.0.0.1", () => socket.write(`${head.join("\r\n")}\r\n\r\n`))
    let received = ""
    socket.setEncoding("latin1").on("data", (text) => (received += String(text)))
    socket.on("close", () => resume(Effect.succeed(received)))
    return Effect.sync(() => socket.destroy())
  })
})

layer(TestApi.layer({ server: { requestTimeoutMs: 30_000, maxBodyBytes } }))("a request body", (it) => {
  it.effect("that is not UTF-8 is refused, and nothing is stored", () =>
    Effect.gen(function* () {
      const before = yield* stored
      const bytes = new Uint8Array([...json({ type: "plain", id: "a" }).slice(0, -3), 0xff, 0x22, 0x7d])
      const response = yield* post(bytes, {}, "/api/v1/signers")
      assert.strictEqual(response.status, 400)
      assert.include(response.text, "body: Expected UTF-8")
      assert.strictEqual(yield* stored, before)
    })
  )

  it.effect("that is encoded is refused, and the response names the coding that is accepted", () =>
    Effect.gen(function* () {
      const gzipped = new Uint8Array(gzipSync(json({ type: "plain" })))
      const response = yield* post(gzipped, { "content-encoding": "gzip" }, "/api/v1/signers")
      assert.strictEqual(response.status, 415)
      assert.strictEqual(response.headers.get("accept-encoding"), "identity")
      assert.include(response.text, '"error":"content-encoding: Expected no encoding"')
      const identity = yield* post(json({ type: "plain" }), { "content-encoding": "identity" }, "/api/v1/signers")
      assert.strictEqual(identity.status, 201)
    })
  )

  it.effect("of another media type is refused, and the response names the types that are accepted", () =>
    Effect.gen(function* () {
      const text = { "content-type": "text/plain" }
      const created = yield* post(json({ type: "plain" }), text, "/api/v1/signers")
      assert.deepStrictEqual([created.status, created.headers.get("accept")], [415, "application/json"])
      assert.include(created.text, '"error":"content-type: Expected application/json"')
      const patched = yield* post(json({ name: "x" }), text, "/api/v1/relayers/a", "PATCH")
      assert.strictEqual(patched.headers.get("accept"), "application/json, application/merge-patch+json")
      assert.include(patched.text, '"error":"content-type: Expected application/json or application/merge-patch+json"')
    })
  )

  it.effect("of a form, which is what curl sends without a header, gets a hint that names the header", () =>
    Effect.gen(function* () {
      const received = yield* sendHead([
        "content-type: application/x-www-form-urlencoded",
        "content-length: 2",
        "connection: close",
        "",
        "{}"
      ])
      const [head = "", body] = received.split("\r\n\r\n")
      assert.match(head, /^HTTP\/1\.1 415 /)
      assert.match(head, /^accept: application\/json$/im)
      assert.strictEqual(
        body,
        '{"data":null,"message":"Unsupported Media Type","success":false,"error":"content-type: Expected application/json"}'
      )
    })
  )

  it.effect("may name its media type in any case and with parameters", () =>
    Effect.gen(function* () {
      const type = { "content-type": "Application/JSON ; charset=UTF-8" }
      assert.strictEqual((yield* post(json({ type: "plain" }), type, "/api/v1/signers")).status, 201)
    })
  )

  it.effect("that announces too many bytes is refused before it is sent", () =>
    Effect.gen(function* () {
      const lines = ["content-type: application/json", `content-length: ${maxBodyBytes + 1}`]
      for (const more of [["connection: close"], ["expect: 100-continue"]]) {
        const received = yield* sendHead([...lines, ...more])
        assert.match(received, /^HTTP\/1\.1 413 /)
        assert.strictEqual(received.match(/HTTP\/1\.1 /g)?.length, 1)
        assert.include(received, '"message":"Payload Too Large"')
      }
    })
  )

  it.effect("that turns out to be too long is refused", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* TestApi.TestApi
      const port = Number(new URL(baseUrl).port)
      const received = yield* Effect.callback<string>((resume) => {
        const head = `POST /api/v1/signers HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${TestApi.apiKey}\r\ntransfer-encoding: chunked\r\n\r\n`
        const chunk = `400\r\n${" ".repeat(1024)}\r\n`
        const socket = net.connect(port, "127.0.0.1", () => socket.write(head + chunk + chunk))
        socket.setEncoding("latin1").once("data", (text) => resume(Effect.succeed(String(text))))
        return Effect.sync(() => socket.destroy())
      })
      assert.match(received, /^HTTP\/1\.1 413 /)
    })
  )
})
