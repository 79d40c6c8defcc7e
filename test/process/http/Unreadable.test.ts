// Bytes that are not a request of HTTP/1.1, or that two servers on the way could read differently, sent over a socket.
// Its time limits are those of the clock of the machine.
import { assert, inject, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import * as Connection from "../../../faults/fuzz/Connection.ts"
import * as Verdict from "../../../faults/fuzz/Verdict.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"
import { serving } from "../../../testkit/process/Commands.ts"
import { folder, until } from "../../../testkit/process/Folder.ts"
import * as Service from "../../../testkit/process/Service.ts"

class Running extends Context.Service<Running, Pick<Service.Listening, "baseUrl" | "call">>()(
  "effect-relayer/test/process/http/Unreadable.test/Running"
) {}

const running = Layer.effect(
  Running,
  Effect.gen(function* () {
    const env = Service.onServer(inject("postgres"), yield* TestDatabase.make)
    const service = yield* serving(yield* folder, { ...env, REQUEST_TIMEOUT_MS: "4000" })
    // A busy machine may need longer than the time limit of a request.
    const kept = service.call("/api/v1/signers", { body: { id: "kept", type: "plain" } })
    yield* until(
      "the signer",
      Effect.map(kept, ({ status }) => (status === 201 || status === 409 ? true : undefined))
    )
    return service
  })
)

const smuggled = "DELETE /api/v1/signers/kept HTTP/1.1\r\nhost: a\r\n"
const key = `authorization: Bearer ${Service.apiKey}`

const request = (lines: ReadonlyArray<string>, body = "") =>
  ["POST /api/v1/signers HTTP/1.1", key, "content-type: application/json", ...lines, "", body].join("\r\n")

/** Everything that comes back until the service closes the connection. */
const send = Effect.fnUntraced(function* (bytes: string, later?: string) {
  const port = Number(new URL((yield* Running).baseUrl).port)
  const buffer = (text: string) => Buffer.from(text, "latin1")
  return yield* Effect.promise(() =>
    Connection.held(port, buffer(bytes), later === undefined ? undefined : buffer(later))
  )
})

/** The message of the envelope that belongs to each status. */
const messages = {
  400: "Bad Request",
  417: "Expectation Failed",
  431: "Request Header Fields Too Large"
} as const

const statusAndMessage = ({ status, body }: { readonly status: number; readonly body: string }) => [
  status,
  (JSON.parse(body) as { readonly message: string }).message
]

/** Bytes, and the one status that they get. */
const refused: Record<string, readonly [bytes: string, status: keyof typeof messages]> = {
  "a line that is not a request": ["NONSENSE\r\n\r\n", 400],
  "a TLS handshake": ["\x16\x03\x01\x00\xc8\x01\x00", 400],
  "a request without a host": [request(["content-length: 2"], "{}"), 400],
  "a request with two hosts": [request(["host: a", "host: b", "content-length: 2"], "{}"), 400],
  "a body that is both chunked and has a length": [
    request(["host: a", "content-length: 4", "transfer-encoding: chunked"], `0\r\n\r\n${smuggled}${key}\r\n\r\n`),
    400
  ],
  "a body with two lengths": [
    request(["host: a", "content-length: 2", "content-length: 80"], `{}${smuggled}${key}\r\n\r\n`),
    400
  ],
  "a transfer coding that does not end with chunked": [
    request(["host: a", "transfer-encoding: chunked, identity"], `0\r\n\r\n${smuggled}${key}\r\n\r\n`),
    400
  ],
  "a malformed chunk size": [request(["host: a", "transfer-encoding: chunked"], "0x2\r\n{}\r\n0\r\n\r\n"), 400],
  "a space before the colon of a header": [request(["host: a", "content-length : 2"], "{}"), 400],
  "lines that end without a carriage return": [`GET /api/v1/relayers HTTP/1.1\nhost: a\n${key}\n\n`, 400],
  "a folded header": [request(["host: a", "content-length: 2", "x: a", " b"], "{}"), 400],
  "a NUL in a header": [request(["host: a", "content-length: 2", "x: a\0b"], "{}"), 400],
  "a head of more than 16 kB": [request(["host: a", `x: ${"x".repeat(17_000)}`]), 431],
  "an unknown expectation": [request(["host: a", "expect: gold", "content-length: 2"], "{}"), 417]
}

layer(running, { excludeTestServices: true })("a connection", (it) => {
  for (const [name, [bytes, status]] of Object.entries(refused)) {
    it.effect(`with ${name} gets one response with status ${status} and is closed`, () =>
      Effect.gen(function* () {
        const service = yield* Running
        const exchange = yield* send(bytes)
        assert.deepStrictEqual(exchange.answers.map(statusAndMessage), [[status, messages[status]]])
        assert.isUndefined(exchange.fault)
        for (const answer of exchange.answers) assert.deepStrictEqual(Verdict.ofAnswer(answer, undefined, []), [])
        assert.strictEqual((yield* service.call("/api/v1/signers/kept")).status, 200)
      })
    )
  }

  it.effect("that asks for another protocol is served over HTTP/1.1", () =>
    Effect.gen(function* () {
      const lines = ["host: a", "connection: upgrade, close", "upgrade: websocket", "transfer-encoding: chunked"]
      const bytes = request(lines, '2\r\n{"\r\n0\r\n\r\n')
      const exchange = yield* send(bytes)
      assert.include(exchange.answers[0]?.body, "body: Expected valid JSON")
    })
  )

  it.effect("of HTTP/1.0 needs no host", () =>
    Effect.gen(function* () {
      const exchange = yield* send("GET /v1/health HTTP/1.0\r\n\r\n")
      assert.deepStrictEqual(
        exchange.answers.map(({ status, body }) => [status, body]),
        [[200, "OK"]]
      )
    })
  )

  it.effect("may send any number of header fields within 16 kB", () =>
    Effect.gen(function* () {
      const bytes = `GET /api/v1/signers HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${"a:\r\n".repeat(2500)}${key}\r\n\r\n`
      const exchange = yield* send(bytes)
      assert.deepStrictEqual(
        exchange.answers.map(({ status }) => status),
        [200]
      )
    })
  )

  it.effect("whose head or body does not arrive in time gets 408", () =>
    Effect.gen(function* () {
      const slow = ["GET /v1/health HTTP/1.1\r\nhost: a\r\nx: ", request(["host: a", "content-length: 9"], "{")]
      for (const { answers } of yield* Effect.forEach(slow, (bytes) => send(bytes), { concurrency: "unbounded" })) {
        assert.deepStrictEqual(answers.map(statusAndMessage), [[408, "Request Timeout"]])
        for (const answer of answers) assert.deepStrictEqual(Verdict.ofAnswer(answer, undefined, []), [])
      }
    })
  )

  it.effect("gets no second response if the body of a refused request does not arrive in time", () =>
    Effect.gen(function* () {
      const stranger = "POST /api/v1/signers HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n{"
      const { answers } = yield* send(stranger)
      assert.deepStrictEqual(answers.map(statusAndMessage), [[401, "Unauthorized"]])
    })
  )

  it.effect("gets no second response if the body of a refused request is malformed", () =>
    Effect.gen(function* () {
      const stranger = "POST /api/v1/signers HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
      const { answers } = yield* send(stranger, "0x2\r\n{}\r\n0\r\n\r\n")
      assert.deepStrictEqual(answers.map(statusAndMessage), [[401, "Unauthorized"]])
    })
  )

  it.effect("gets its responses in the order of its requests, also if the last one is malformed", () =>
    Effect.gen(function* () {
      const list = `GET /api/v1/signers HTTP/1.1\r\nhost: a\r\n${key}\r\n\r\n`
      const { answers } = yield* send(`${list}${list}NONSENSE\r\n\r\n`)
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 400]
      )
    })
  )
})
