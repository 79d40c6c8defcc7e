// Key services that answer with what a key service never sends: other types, text for logs, too many bytes, and no end.
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { ServerResponse } from "node:http"
import { layerEach } from "../../../../testkit/layerEach.ts"
import * as Google from "../../../../testkit/signers/Google.ts"
import { StandIn } from "../../../../testkit/signers/StandIn.ts"
import { backends, failureOfRequest, open, standIns } from "./signers.ts"

const digest = new Uint8Array(32).fill(1)

const opened = Effect.flatMap(StandIn, ({ request }) => open(request("secp256k1")))

const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))

/** The failures of signatures of a new signer after these answers. At most four, because the fifth opens the circuit breaker. */
const failuresAfter = Effect.fnUntraced(
  function* (answers: ReadonlyArray<(response: ServerResponse) => void>) {
    const { reply } = yield* StandIn
    const backend = yield* opened
    const failures = yield* Effect.forEach(answers, (write) => {
      reply("sign", write)
      return Effect.flip(backend.sign("secp256k1", digest))
    })
    reply("sign", undefined)
    return failures
  },
  (self) => Effect.provide(self, backends, { local: true })
)

/** Longer than all logs. */
const longText = "x".repeat(100_000)

/** Names of properties that every object has. */
const inherited = ["constructor", "toString", "__proto__"]

for (const [name, standIn] of standIns) {
  layerEach(Layer.provideMerge(backends, Layer.fresh(standIn)))(`a signer of ${name}`, (it) => {
    const odd: ReadonlyArray<unknown> = [null, 1, "text", [], {}, ...inherited, { toString: 1 }]

    it.effect("fails as usual after answers with values of other types", () =>
      Effect.gen(function* () {
        for (const value of odd) {
          const fields = [
            "KeyId",
            "Signature",
            "__type",
            "name",
            "signature",
            "signatureCrc32c",
            "kid",
            "value",
            "message"
          ]
          const flat = Object.fromEntries(fields.map((field) => [field, value]))
          const answers = [
            value,
            flat,
            { ...flat, error: value, activity: value },
            { ...flat, error: { message: value, innererror: { code: value } } },
            { activity: { id: "1", status: value, result: value } },
            { activity: { id: "1", status: value, result: null } }
          ]
          for (const answer of answers) {
            const failures = yield* failuresAfter([200, 400, 403].map((status) => json(answer, status)))
            for (const { reason } of failures) assert.notStrictEqual(reason, "unreachable", JSON.stringify(answer))
          }
        }
      })
    )

    it.effect("is not created after answers with values of other types", () =>
      Effect.gen(function* () {
        const { reply, request } = yield* StandIn
        for (const value of odd) {
          const fields = ["KeyId", "KeySpec", "KeyUsage", "PublicKey", "name", "pem", "pemCrc32c", "algorithm"]
          const flat = Object.fromEntries([...fields, "protectionLevel", "privateKey"].map((field) => [field, value]))
          reply("describe", json({ ...flat, key: value, attributes: value }))
          reply("sign", json({ ...flat, activity: { id: "1", status: value, result: value } }))
          const message = failureOfRequest(request("secp256k1"))
          assert.match(yield* Effect.provide(message, backends, { local: true }), /^config/)
        }
      })
    )

    it.effect("copies no long or unprintable id of a call", () =>
      Effect.gen(function* () {
        for (const id of [longText.slice(0, 8000), "a b"]) {
          const ids = { "x-amzn-requestid": id, "x-ms-request-id": id }
          const activity = { id, status: "ACTIVITY_STATUS_FAILED", result: null }
          const failures = yield* failuresAfter([
            json({ activity, __type: "DisabledException" }, 403, ids),
            json({ activity }, 200, ids)
          ])
          for (const { requestId } of failures) assert.isUndefined(requestId)
        }
      })
    )

    it.effect("reads at most a few MiB of an answer, and closes the connection", () =>
      Effect.gen(function* () {
        const backend = yield* opened
        const { reply } = yield* StandIn
        const part = Buffer.alloc(65_536, 32)
        let sent = 0
        reply("sign", (response) => {
          const write = () => {
            while (sent < 104_857_600 && !response.destroyed) {
              sent += part.length
              if (!response.write(part)) return void response.once("drain", write)
            }
          }
          response.writeHead(200, { "content-type": "application/json" })
          write()
        })
        yield* Effect.flip(backend.sign("secp256k1", digest))
        assert.isBelow(sent, 20 * 1_048_576)
      })
    )

    it.effect("follows no redirect", () =>
      Effect.gen(function* () {
        const { count } = yield* StandIn
        for (const status of [301, 302, 303, 307, 308]) {
          const before = count("describe")
          const [failure] = yield* failuresAfter([json({}, status, { location: "/again" })])
          assert.strictEqual(failure?.reason, "unexpected")
          assert.isAtMost(count("describe") - before, 1)
        }
      })
    )
  })

  it.effect(`a signer of ${name} closes the connection of an answer that does not end`, () =>
    Effect.gen(function* () {
      const backend = yield* opened
      const { reply } = yield* StandIn
      const begun = yield* Deferred.make<void>()
      const closed = yield* Deferred.make<void>()
      reply("sign", (response) => {
        response.writeHead(200, { "content-type": "application/json" }).write("{")
        response.once("close", () => Deferred.doneUnsafe(closed, Effect.void))
        Deferred.doneUnsafe(begun, Effect.void)
      })
      const signing = yield* Effect.forkChild(backend.sign("secp256k1", digest))
      yield* Deferred.await(begun)
      yield* TestClock.adjust("3 seconds")
      yield* Deferred.await(closed)
      yield* Fiber.interrupt(signing)
    }).pipe(Effect.provide(Layer.provideMerge(backends, Layer.fresh(standIn))))
  )
}

layerEach(Layer.provideMerge(backends, Layer.fresh(Google.layer)))("a key in Google Cloud KMS", (it) => {
  it.effect("does not show text of the key service as its protection level", () =>
    Effect.gen(function* () {
      const google = yield* Google.Google
      const { request } = yield* StandIn
      google.change = (answer) => ("protectionLevel" in answer ? { ...answer, protectionLevel: longText } : answer)
      assert.match(yield* failureOfRequest(request("secp256k1")), /does not answer as Cloud KMS does/)
    })
  )
})
