// Bytes that HTTP/1.1 does not know, or that two servers on the way could read differently, over a socket.
import { assert, inject, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import * as Connection from "../../../faults/fuzz/Connection.ts"
import * as Verdict from "../../../faults/fuzz/Verdict.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"
import { folder } from "../../../testkit/process/Folder.ts"
import * as Service from "../../../testkit/process/Service.ts"

class Running extends Context.Service<Running, Service.Listening>()(
  "effect-relayer/test/process/http/Unreadable.test/Running"
) {}

const running = Layer.effect(
  Running,
  Effect.gen(function* () {
    const env = Service.onServer(inject("postgres"), yield* TestDatabase.make)
    const service = yield* Service.listen({ folder: yield* folder, env: { ...env, REQUEST_TIMEOUT_MS: "4000" } })
    yield* service.call("/api/v1/signers", { body: { id: "kept", type: "plain" } })
    return service
  })
)

const smuggled = "DELETE /api/v1/signers/kept HTTP/1.1\r\nhost: a\r\n"
const key = `authorization: Bearer ${Service.apiKey}`

const request = (lines: ReadonlyArray<string>, body = "") =>
  ["POST /api/v1/signers HTTP/1.1", key, "content-type: application/json", ...lines, "", body].join("\r\n")

/** What comes back until the service ends the connection, which all of these make it do. */
const send = Effect.fnUntraced(function* (bytes: string) {
  const port = Number(new URL((yield* Running).baseUrl).port)
  return yield* Effect.promise(() => Connection.held(port, Buffer.from(bytes, "latin1")))
})

/** Bytes, and the one status that answers them. */
const refused: Record<string, readonly [bytes: string, status: number]> = {
  "no request": ["NONSENSE\r\n\r\n", 400],
  "a TLS handshake": ["\x16\x03\x01\x00\xc8\x01\x00", 400],
  "no host": [request(["content-length: 2"], "{}"), 400],
  "two hosts": [request(["host: a", "host: b", "content-length: 2"], "{}"), 400],
  "content-length and chunked": [
    request(["host: a", "content-length: 4", "transfer-encoding: chunked"], `0\r\n\r\n${smuggled}${key}\r\n\r\n`),
    400
  ],
  "two content-lengths": [
    request(["host: a", "content-length: 2", "content-length: 80"], `{}${smuggled}${key}\r\n\r\n`),
    400
  ],
  "a transfer-encoding that is not chunked at its end": [
    request(["host: a", "transfer-encoding: chunked, identity"], `0\r\n\r\n${smuggled}${key}\r\n\r\n`),
    400
  ],
  "a chunk size that is none": [request(["host: a", "transfer-encoding: chunked"], "0x2\r\n{}\r\n0\r\n\r\n"), 400],
  "a space before a colon": [request(["host: a", "content-length : 2"], "{}"), 400],
  "bare line feeds": [`GET /api/v1/relayers HTTP/1.1\nhost: a\n${key}\n\n`, 400],
  "a folded header": [request(["host: a", "content-length: 2", "x: a", " b"], "{}"), 400],
  "a NUL in a header": [request(["host: a", "content-length: 2", "x: a\0b"], "{}"), 400],
  "headers of more than 16 kB": [request(["host: a", `x: ${"x".repeat(17_000)}`]), 431],
  "an expectation that nobody meets": [request(["host: a", "expect: gold", "content-length: 2"], "{}"), 417]
}

layer(running, { excludeTestServices: true })("what HTTP/1.1 does not know", (it) => {
  for (const [name, [bytes, status]] of Object.entries(refused)) {
    it.effect(`${name}: is refused once, in an envelope, and the connection ends`, () =>
      Effect.gen(function* () {
        const service = yield* Running
        const exchange = yield* send(bytes)
        assert.deepStrictEqual(
          exchange.answers.map((answer) => answer.status),
          [status]
        )
        assert.isUndefined(exchange.fault)
        for (const answer of exchange.answers) assert.deepStrictEqual(Verdict.ofAnswer(answer, undefined, []), [])
        assert.strictEqual((yield* service.call("/api/v1/signers/kept")).status, 200)
      })
    )
  }

  it.effect("what asks for another protocol is a request as any other, with its body", () =>
    Effect.gen(function* () {
      const lines = ["host: a", "connection: upgrade, close", "upgrade: websocket", "transfer-encoding: chunked"]
      const bytes = request(lines, '2\r\n{"\r\n0\r\n\r\n')
      const exchange = yield* send(bytes)
      assert.include(exchange.answers[0]?.body, "body: Expected valid JSON")
    })
  )

  it.effect("a request of HTTP/1.0 needs no host", () =>
    Effect.gen(function* () {
      const exchange = yield* send("GET /v1/health HTTP/1.0\r\n\r\n")
      assert.deepStrictEqual(
        exchange.answers.map(({ status, body }) => [status, body]),
        [[200, "OK"]]
      )
    })
  )

  it.effect("no header is dropped without a word, however many there are", () =>
    Effect.gen(function* () {
      const bytes = `GET /api/v1/signers HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${"a:\r\n".repeat(2500)}${key}\r\n\r\n`
      const exchange = yield* send(bytes)
      assert.deepStrictEqual(
        exchange.answers.map(({ status }) => status),
        [200]
      )
    })
  )

  it.effect("headers, or a body, that do not come in time get 408", () =>
    Effect.gen(function* () {
      const slow = ["GET /v1/health HTTP/1.1\r\nhost: a\r\nx: ", request(["host: a", "content-length: 9"], "{")]
      for (const { answers } of yield* Effect.forEach(slow, send, { concurrency: "unbounded" })) {
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [408]
        )
        for (const answer of answers) assert.deepStrictEqual(Verdict.ofAnswer(answer, undefined, []), [])
      }
    })
  )
})
