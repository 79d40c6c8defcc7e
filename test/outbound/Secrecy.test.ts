// Errors, responses and spans contain no secret of a request.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Tracer } from "effect"
import { HttpBody, HttpClientResponse } from "effect/http"
import { inspect } from "node:util"
import { outbound } from "./Client.ts"
import { freePort } from "../../testkit/process/Ports.ts"
import * as Target from "../../testkit/Target.ts"

describe("a secret", () => {
  const url = (target: { url(path: string): string }) =>
    target.url("/secret?key=secret#secret").replace("//", "//user:secret@")
  const options = { headers: { "x-vault-token": "secret" }, body: HttpBody.text("secret") }

  it.effect("in a URL, a header or a body appears in no error, response or span, and no trace header is sent", () =>
    Effect.gen(function* () {
      const target = yield* Target.listen(Target.echo())
      const port = yield* freePort
      const closed = { url: (path: string) => `http://127.0.0.1:${port}${path}` }
      const spans: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      const { client } = yield* outbound()
      const send = (to: string) => Effect.provideService(client.post(to, options), Tracer.Tracer, tracer)
      const response = yield* send(url(target))
      const { headers } = yield* Schema.decodeUnknownEffect(
        Schema.Struct({ headers: Schema.Record(Schema.String, Schema.String) })
      )(yield* response.json)
      assert.strictEqual(headers["x-vault-token"], "secret")
      assert.notProperty(headers, "traceparent")
      assert.notProperty(headers, "b3")

      const errors = [yield* Effect.flip(send(url(closed))), yield* Effect.flip(send("http://10.0.0.1/secret"))]
      const status = yield* Effect.flip(HttpClientResponse.filterStatus(response, () => false))
      for (const value of [...errors, status, response]) {
        assert.notInclude(inspect(value, { depth: 20, showHidden: false }), "secret")
        assert.notInclude(`${value}${JSON.stringify(value)}`, "secret")
      }
      assert.deepStrictEqual(
        spans.map(({ name }) => name),
        ["Outbound.send", "Outbound.send", "Outbound.send"]
      )
      for (const { attributes, status } of spans) {
        assert.strictEqual(attributes.get("http.request.method"), "POST")
        assert.notInclude(inspect([attributes, status], { depth: 20 }), "secret")
      }
    })
  )

  it.effect("that Node cannot send causes a failure, not a defect", () =>
    Effect.gen(function* () {
      const target = yield* Target.listen(Target.echo())
      const { client } = yield* outbound()
      const header = yield* Effect.flip(client.get(target.url(), { headers: { "x-vault-token": "secret\n" } }))
      const user = yield* Effect.flip(client.get(target.url().replace("//", "//%ff:secret@")))
      for (const error of [header, user]) {
        assert.strictEqual(error.reason._tag, "TransportError")
        assert.notInclude(inspect(error, { depth: 20 }), "secret")
      }
      assert.isEmpty(target.sockets)
    })
  )
})
