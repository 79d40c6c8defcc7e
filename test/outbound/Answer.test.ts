// Responses: their bodies, redirects, and bytes that are not a response.
import * as NodeStream from "@effect/platform-node/NodeStream"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { HttpClientResponse } from "effect/http"
import * as http from "node:http"
import { gzipSync } from "node:zlib"
import { outbound, why } from "./Client.ts"
import * as Target from "../../testkit/Target.ts"

const megabyte = 1_048_576

describe("a response", () => {
  it.effect("that redirects is returned, not followed", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const server = http.createServer((request, response) => {
        seen.push(request.url)
        response.writeHead(Number(request.url?.slice(1)), { location: "/200" }).end("moved")
      })
      const target = yield* Target.listen(server)
      const { client } = yield* outbound()
      for (const status of [301, 302, 303, 307, 308]) {
        const response = yield* client.get(target.url(`/${status}`))
        assert.strictEqual(response.status, status)
        assert.strictEqual(response.headers.location, "/200")
        assert.strictEqual(yield* response.text, "moved")
      }
      assert.deepStrictEqual(seen, ["/301", "/302", "/303", "/307", "/308"])
    })
  )

  it.effect("has a body of at most the limit", () =>
    Effect.gen(function* () {
      const body = Buffer.alloc(megabyte, "a")
      const server = http.createServer((request, response) => {
        if (request.url === "/chunked") response.flushHeaders()
        response.end(request.url === "/more" ? Buffer.concat([body, Buffer.from("a")]) : body)
      })
      const target = yield* Target.listen(server)
      const { client } = yield* outbound()
      for (const path of ["/sized", "/chunked"]) {
        const response = yield* client.get(target.url(path))
        assert.strictEqual((yield* response.arrayBuffer).byteLength, megabyte)
        assert.lengthOf(yield* response.text, megabyte)
      }
      const more = yield* client.get(target.url("/more"))
      assert.instanceOf((yield* Effect.flip(more.text)).reason.cause, NodeStream.MaxBytesError)
      const small = yield* outbound({ maxResponseBytes: 10 })
      const tooLarge = yield* small.client.get(target.url("/sized"))
      assert.instanceOf((yield* Effect.flip(tooLarge.text)).reason.cause, NodeStream.MaxBytesError)
    })
  )

  const endless = (head: string) =>
    Target.raw(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`, (socket) => {
      const chunk = `10000\r\n${"a".repeat(0x10000)}\r\n`
      const send = () => {
        while (!socket.destroyed && socket.write(chunk)) {}
      }
      socket.on("drain", send)
      send()
    })

  const heads = ["content-length: 9999999999", "transfer-encoding: chunked", "connection: close"]
  it.effect.each(heads)("with an endless body is cut at the limit and keeps its status: %s", (head) =>
    Effect.gen(function* () {
      const target = yield* Target.listen(endless(head))
      const { client } = yield* outbound()
      const response = yield* client.get(target.url())
      assert.strictEqual(response.status, 200)
      const streamed = Stream.runDrain(HttpClientResponse.stream(client.get(target.url())))
      for (const body of [response.text, response.json, response.arrayBuffer, streamed]) {
        const error = yield* Effect.flip(body)
        assert.strictEqual(error.reason._tag, "DecodeError")
        assert.instanceOf(error.reason.cause, NodeStream.MaxBytesError)
      }
      yield* Target.closed(target)
    })
  )

  it.effect("ends at its content-length even if more bytes follow", () =>
    Effect.gen(function* () {
      const more = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison"
      const target = yield* Target.listen(Target.raw(`HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc${more}`))
      const { client } = yield* outbound()
      for (const _ of [1, 2]) assert.strictEqual(yield* (yield* client.get(target.url())).text, "abc")
      assert.lengthOf(target.sockets, 2)
    })
  )

  it.effect("is not requested in compressed form, and not decompressed", () =>
    Effect.gen(function* () {
      const bomb = gzipSync(Buffer.alloc(20 * megabyte))
      const asked: Array<string | undefined> = []
      const server = http.createServer((request, response) => {
        asked.push(request.headers["accept-encoding"]?.toString())
        response.writeHead(200, { "content-encoding": "gzip" }).end(bomb)
      })
      const target = yield* Target.listen(server)
      const { client } = yield* outbound()
      const response = yield* client.get(target.url(), { headers: { "Accept-Encoding": "gzip" } })
      assert.deepStrictEqual(new Uint8Array(yield* response.arrayBuffer), new Uint8Array(bomb))
      assert.deepStrictEqual(asked, [undefined])
    })
  )

  it.effect("that breaks off keeps its status, but its body cannot be read", () =>
    Effect.gen(function* () {
      const head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"
      const { client } = yield* outbound()
      const target = yield* Target.listen(Target.raw(head, (socket) => socket.end()))
      const response = yield* client.get(target.url())
      assert.strictEqual(response.status, 200)
      assert.isUndefined(why(yield* Effect.flip(response.text)))
      // A reset may arrive before the head.
      const reset = yield* Target.listen(Target.raw(head, (socket) => setImmediate(() => socket.resetAndDestroy())))
      const text = Effect.flatMap(client.get(reset.url()), (response) => response.text)
      assert.isUndefined(why(yield* Effect.flip(text)))
    })
  )

  const noAnswers = [
    ["a change of the protocol", "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nabc"],
    ["a status of 999", "HTTP/1.1 999 Unknown\r\nconnection: close\r\ncontent-length: 3\r\n\r\nabc"],
    ["a length that is not a number", "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\nabc"],
    ["100 kB of headers", `HTTP/1.1 200 OK\r\nx: ${"a".repeat(100_000)}\r\n\r\n`],
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n"]
  ] as const
  it.effect.each(noAnswers)("cannot be %s, which closes the connection", ([, text]) =>
    Effect.gen(function* () {
      const target = yield* Target.listen(Target.raw(text))
      const { client } = yield* outbound()
      const error = yield* Effect.flip(client.get(target.url()))
      assert.strictEqual(error.reason._tag, "TransportError")
      assert.isUndefined(why(error))
      yield* Target.closed(target)
    })
  )

  it.effect("without a body is empty", () =>
    Effect.gen(function* () {
      const server = http.createServer((request, response) => {
        response.writeHead(Number(request.url?.slice(1)), { etag: "a" }).end()
      })
      const target = yield* Target.listen(server)
      const { client } = yield* outbound()
      for (const status of [200, 204, 205, 304, 500, 599]) {
        const response = yield* client.get(target.url(`/${status}`))
        assert.strictEqual(response.status, status)
        assert.strictEqual(response.headers.etag, "a")
        assert.strictEqual(yield* response.text, "")
      }
      assert.lengthOf(target.sockets, 1)
    })
  )
})
