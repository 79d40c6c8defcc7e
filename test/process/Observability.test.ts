// Telemetry by OTLP, and responses to bytes that are not an HTTP request. Processes run by the clock of the machine.
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect } from "effect"
import * as net from "node:net"
import * as Collector from "../../testkit/Collector.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { serving } from "../../testkit/process/Commands.ts"
import { folder, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

/** Sends `bytes` on a new connection and returns everything that is received. */
const send = (baseUrl: string, bytes: string) =>
  Effect.callback<string>((resume) => {
    const { hostname, port } = new URL(baseUrl)
    let answer = ""
    const socket = net.connect(Number(port), hostname, () => socket.write(bytes))
    socket.setEncoding("utf8").on("data", (chunk: string) => (answer += chunk))
    socket.on("error", () => undefined)
    socket.on("close", () => resume(Effect.succeed(answer)))
    return Effect.sync(() => socket.destroy())
  })

const onServer = Effect.map(TestDatabase.make, (database) => Service.onServer(inject("postgres"), database))

const started = Effect.fnUntraced(function* (env: Record<string, string>) {
  return yield* Service.listen({ folder: yield* folder, env: { ...(yield* onServer), ...env } })
})

describe.concurrent("observability", () => {
  it.live("spans, log records and metrics arrive at an OTLP collector, with the trace of the caller", () =>
    Effect.gen(function* () {
      const { url, received, headers: sent } = yield* Collector.make
      const service = yield* started({
        OTEL_EXPORTER_OTLP_ENDPOINT: url,
        OTEL_EXPORTER_OTLP_HEADERS: "api-key=otlp%20secret, tenant=relayers",
        OTEL_SERVICE_NAME: "relayer-of-the-test"
      })
      const traceId = "0af7651916cd43dd8448eb211c80319c"
      const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
      const created = yield* service.call("/api/v1/signers", { body: { id: "traced", type: "plain" }, headers })
      assert.strictEqual(created.status, 201)
      yield* Service.stop(service)
      yield* until(
        "traces, logs and metrics",
        Effect.sync(() => ["/v1/traces", "/v1/logs", "/v1/metrics"].every((path) => received(path) !== "") || undefined)
      )
      const traces = received("/v1/traces")
      for (const name of ["POST", "Signers.create", "SignersRepo.insert"]) {
        assert.isTrue(traces.includes(`"name":"${name}"`), name)
      }
      assert.include(traces, traceId)
      for (const text of ["relayer-of-the-test", "service.version", "service.instance.id"]) assert.include(traces, text)
      for (const own of sent) assert.deepInclude(own, { "api-key": "otlp secret", tenant: "relayers" })
      assert.notInclude(service.stdout() + service.stderr(), "otlp secret")
      assert.include(received("/v1/logs"), '"body":{"stringValue":"signer created"}')
      assert.notInclude(received("/v1/logs"), '"body":{"arrayValue"')
      assert.include(received("/v1/metrics"), "requests_total")
    })
  )

  it.live("a collector that cannot be reached is reported once", () =>
    Effect.gen(function* () {
      const service = yield* started({
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://user:otlp-secret@127.0.0.1:9",
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf"
      })
      const warnings = () => service.stdout().match(/"message":"cannot send telemetry to the OTLP collector"/g) ?? []
      yield* until(
        "the warning",
        Effect.sync(() => (warnings().length > 0 ? true : undefined))
      )
      assert.strictEqual((yield* service.call("/api/v1/signers")).status, 200)
      yield* Service.stop(service)
      assert.lengthOf(warnings(), 1)
      assert.include(service.stdout(), '"collector":"127.0.0.1:9"')
      assert.notInclude(service.stdout(), "otlp-secret")
    })
  )

  it.live("bytes that are not a request, two keys, and too many headers get an envelope", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* serving(yield* folder, yield* onServer)
      const key = `Authorization: Bearer ${Service.apiKey}\r\n`
      const close = "Host: a\r\nConnection: close\r\n\r\n"
      const cases = [
        ["NONSENSE\r\n\r\n", 400, "Bad Request"],
        ["GET /v1/health HTTP/9.9\r\n\r\n", 400, "Bad Request"],
        [
          `GET /api/v1/relayers HTTP/1.1\r\nX: ${"x".repeat(40_000)}\r\n${close}`,
          431,
          "Request Header Fields Too Large"
        ],
        [`GET /api/v1/relayers HTTP/1.1\r\n${key}${key}${close}`, 401, "Unauthorized"],
        [`GET /api/v1/relayers HTTP/1.1\r\n${key}Authorization: Bearer other\r\n${close}`, 401, "Unauthorized"],
        [
          `POST /api/v1/signers HTTP/1.1\r\n${key}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n${close}zz\r\n`,
          400,
          "Bad Request"
        ]
      ] as const
      for (const [bytes, status, message] of cases) {
        const [head, body = ""] = (yield* send(baseUrl, bytes)).split("\r\n\r\n")
        assert.match(head ?? "", new RegExp(`^HTTP/1.1 ${status} `), bytes.slice(0, 40))
        assert.match(head ?? "", /\r\nx-request-id: [0-9a-f-]{36}/i)
        const { error: _, ...envelope } = JSON.parse(body)
        assert.deepStrictEqual(envelope, { data: null, message, success: false })
      }
      const good = yield* send(baseUrl, `GET /api/v1/relayers HTTP/1.1\r\n${key}${close}`)
      assert.match(good, /^HTTP\/1.1 200 /)
    })
  )
})
