// The client against servers on this machine: the destinations that it reaches, and its time limits.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { HttpBody, type HttpClientError } from "effect/http"
import { TestClock } from "effect/testing"
import { once } from "node:events"
import * as https from "node:https"
import * as tls from "node:tls"
import { outbound, resolver, why } from "./Client.ts"
import { freePort } from "../../testkit/process/Ports.ts"
import * as Target from "../../testkit/Target.ts"

describe("a destination", () => {
  it.effect("on this machine is refused without a connection", () =>
    Effect.gen(function* () {
      const target = yield* Target.listen(Target.echo())
      const { client, refuse } = yield* outbound({ allow: "" })
      for (const host of ["127.0.0.1", "2130706433", "[::ffff:127.0.0.1]"]) {
        const error = yield* Effect.flip(client.get(target.url("/", host)))
        assert.strictEqual(why(error), "points to a loopback address, which is not allowed")
        assert.strictEqual(refuse(target.url("/", host)), why(error))
        assert.strictEqual(error.reason._tag, "TransportError")
        assert.include(error.message, "points to a loopback address")
      }
      const error = yield* Effect.flip(client.get(target.url("/", "localhost.")))
      assert.strictEqual(why(error), "points to a loopback host, which is not allowed")
      assert.isEmpty(target.sockets)
    })
  )

  it.effect("that is allowed is reached by its address or its name", () =>
    Effect.gen(function* () {
      const target = yield* Target.listen(Target.echo())
      const { client } = yield* outbound({ allow: "127.0.0.1,localhost" })
      for (const host of ["127.0.0.1", "localhost"]) {
        const response = yield* client.post(target.url("/path?q=1", host), { body: HttpBody.text("body") })
        assert.strictEqual(response.status, 200)
        assert.deepInclude(yield* response.json, { url: "/path?q=1" })
      }
    })
  )

  it.effect("whose name resolves to an internal address is refused without a connection, every time", () =>
    Effect.gen(function* () {
      const target = yield* Target.listen(Target.echo())
      const answers = [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["127.0.0.1", "8.8.8.8"], ["::ffff:127.0.0.1"]]
      for (const answer of answers) {
        const { client, refuse } = yield* outbound({ allow: "", resolve: resolver(answer).resolve })
        const url = target.url("/", "hook.example")
        assert.isUndefined(refuse(url))
        for (const _ of answers) {
          const error = yield* Effect.flip(client.get(url))
          assert.strictEqual(why(error), "resolves to a loopback address, which is not allowed")
        }
      }
      assert.isEmpty(target.sockets)
    })
  )

  it.effect("is the address that was checked: a second lookup does not change it", () =>
    Effect.gen(function* () {
      const target = yield* Target.listen(Target.echo())
      // No server listens on ::1, so only a second lookup could succeed.
      const { asked, resolve } = resolver(["::1"], ["127.0.0.1"])
      const { client } = yield* outbound({ allow: "::1", resolve })
      const url = target.url("/", "hook.example")
      const first = yield* Effect.flip(client.get(url))
      assert.isUndefined(why(first))
      assert.deepStrictEqual(asked, ["hook.example"])
      const second = yield* Effect.flip(client.get(url))
      assert.strictEqual(why(second), "resolves to a loopback address, which is not allowed")
      assert.lengthOf(asked, 2)
      assert.isEmpty(target.sockets)
    })
  )

  it.effect("gets its name in the Host header, and can be allowed by its address or its name", () =>
    Effect.gen(function* () {
      const target = yield* Target.listen(Target.echo())
      for (const allow of ["127.0.0.0/8", "hook.example"]) {
        const { asked, resolve } = resolver(["127.0.0.1"])
        const { client } = yield* outbound({ allow, resolve })
        const response = yield* client.get(target.url("/", "Hook.Example"))
        assert.deepInclude(yield* response.json, {
          headers: { host: `hook.example:${target.port}`, connection: "keep-alive" }
        })
        assert.deepStrictEqual(asked, ["hook.example"])
      }
    })
  )

  it.effect("without an address, a server or a response causes a failure, not a refusal", () =>
    Effect.gen(function* () {
      const silent = yield* Target.listen(Target.raw("", (socket) => socket.resetAndDestroy()))
      const closed = `http://127.0.0.1:${yield* freePort}/`
      const unknown = yield* outbound({ resolve: () => Promise.reject(new Error("ENOTFOUND")) })
      const empty = yield* outbound({ resolve: resolver([]).resolve })
      const { client } = yield* outbound()
      const name = silent.url("/", "hook.example")
      const requests = [unknown.client.get(name), empty.client.get(name), client.get(closed), client.get(silent.url())]
      for (const request of requests) {
        const error = yield* Effect.flip(request)
        assert.strictEqual(error.reason._tag, "TransportError")
        assert.isDefined(error.reason.cause)
        assert.isUndefined(why(error))
      }
    })
  )

  it.effect("has an http or https URL", () =>
    Effect.gen(function* () {
      const { client } = yield* outbound()
      for (const url of ["ftp://127.0.0.1", "file:///etc/passwd", "/path", ""]) {
        assert.strictEqual(why(yield* Effect.flip(client.get(url))), "is not an http or https URL")
      }
    })
  )

  it.effect("has a certificate for its name, whatever address the name resolves to", () =>
    Effect.gen(function* () {
      const server = https.createServer({ cert: Target.certificate, key: Target.certificateKey })
      server.on("request", (request, response) => response.end(request.headers.host))
      const target = yield* Target.listen(server)
      const { client } = yield* outbound({ resolve: resolver(["127.0.0.1"]).resolve })
      const get = (name: string) => client.get(`https://${name}:${target.port}`)
      const codeOf = (error: HttpClientError.HttpClientError) => (error.reason.cause as NodeJS.ErrnoException).code

      assert.strictEqual(codeOf(yield* Effect.flip(get("hook.example"))), "DEPTH_ZERO_SELF_SIGNED_CERT")
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          const before = tls.getCACertificates()
          tls.setDefaultCACertificates([Target.certificate])
          return before
        }),
        (before) => Effect.sync(() => tls.setDefaultCACertificates(before))
      )
      const response = yield* get("hook.example")
      assert.strictEqual(yield* response.text, `hook.example:${target.port}`)
      assert.strictEqual(codeOf(yield* Effect.flip(get("other.example"))), "ERR_TLS_CERT_ALTNAME_INVALID")
      assert.strictEqual(codeOf(yield* Effect.flip(get("127.0.0.1"))), "ERR_TLS_CERT_ALTNAME_INVALID")
    })
  )
})

describe("the time limit", () => {
  const stops = [
    ["before the response", ""],
    ["in the headers", "HTTP/1.1 200 OK\r\nx: "],
    ["in the body", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"]
  ] as const
  it.effect.each(stops)("ends a request whose server stops %s", ([, text]) =>
    Effect.gen(function* () {
      const server = Target.raw(text)
      const target = yield* Target.listen(server)
      const { client } = yield* outbound()
      const answered = once(server, "answered")
      const fiber = yield* Effect.forkChild(client.get(target.url()))
      yield* Effect.promise(() => answered)
      yield* TestClock.adjust("9999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const error = yield* Effect.flip(Fiber.join(fiber))
      assert.include(error.message, "no answer in 10s")
      assert.isUndefined(why(error))
      yield* Target.closed(target)
    })
  )

  it.effect("includes the lookup of the name", () =>
    Effect.gen(function* () {
      const asked = Promise.withResolvers<string>()
      const resolve = (name: string) => {
        asked.resolve(name)
        return new Promise<never>(() => {})
      }
      const { client } = yield* outbound({ timeout: "2 seconds", resolve })
      const fiber = yield* Effect.forkChild(client.get("http://hook.example"))
      yield* Effect.promise(() => asked.promise)
      yield* TestClock.adjust("2 seconds")
      assert.include((yield* Effect.flip(Fiber.join(fiber))).message, "no answer in 2s")
    })
  )

  it.effect("a request that is interrupted releases its connection", () =>
    Effect.gen(function* () {
      const server = Target.raw("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc")
      const target = yield* Target.listen(server)
      const { client } = yield* outbound()
      const answered = once(server, "answered")
      const fiber = yield* Effect.forkChild(client.get(target.url()))
      yield* Effect.promise(() => answered)
      yield* Fiber.interrupt(fiber)
      yield* Target.closed(target)
    })
  )

  it.effect("a connection is reused, and ends with the layer", () =>
    Effect.gen(function* () {
      const target = yield* Target.listen(Target.echo())
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { asked, resolve } = resolver(["127.0.0.1"])
          const { client } = yield* outbound({ resolve })
          for (const _ of [1, 2, 3]) yield* client.get(target.url("/", "hook.example"))
          assert.lengthOf(target.sockets, 1)
          assert.lengthOf(asked, 1)
          assert.isFalse(target.sockets[0]?.destroyed)
        })
      )
      yield* Target.closed(target)
    })
  )
})
