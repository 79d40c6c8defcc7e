// A request with an Idempotency-Key takes effect once, and its response is repeated.
import { assert } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { createHash } from "node:crypto"
import * as Retentions from "../../../src/server/Retentions.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const post = (key: string, body: unknown, options: TestApi.Call & { readonly at?: string } = {}) =>
  Effect.flatMap(TestApi.TestApi, (api) =>
    api.call(options.at ?? "/api/v1/signers", {
      body,
      ...options,
      headers: { "idempotency-key": key, ...options.headers }
    })
  )

const plain = { type: "plain" }

const counted = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ signers: bigint; records: bigint }>`
    SELECT (SELECT count(*) FROM signers) AS signers, (SELECT count(*) FROM audit) AS records`
  return [Number(row?.signers), Number(row?.records)]
})

layerEach(TestApi.layer())("idempotency", (it) => {
  it.effect("a repeated request gets the stored response and takes effect once", () =>
    Effect.gen(function* () {
      const first = yield* post("one", plain)
      assert.strictEqual(first.status, 201, first.text)
      assert.isNull(first.headers.get("idempotency-replayed"))
      const before = yield* counted
      for (let n = 0; n < 3; n++) {
        const again = yield* post("one", plain)
        assert.strictEqual(again.status, 201)
        assert.strictEqual(again.text, first.text)
        assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
        assert.strictEqual(again.headers.get("location"), first.headers.get("location"))
        assert.strictEqual(again.headers.get("content-type"), first.headers.get("content-type"))
        assert.notStrictEqual(again.headers.get("x-request-id"), first.headers.get("x-request-id"))
      }
      assert.deepStrictEqual(yield* counted, before)
      assert.notStrictEqual((yield* post("two", plain)).text, first.text)
    })
  )

  it.effect("a stored hash does not confirm a guess of the request, and a hash of the request alone is not valid", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const first = yield* post("hashed", plain)
      const guess = createHash("sha256")
        .update(`4:POST15:/api/v1/signers16:${JSON.stringify(plain)}`)
        .digest()
      const stored = yield* sql<{ request_hash: Uint8Array }>`SELECT request_hash FROM idempotency_keys`
      assert.lengthOf(stored, 1)
      assert.notDeepEqual(Buffer.from(stored[0]?.request_hash ?? []), guess)
      yield* sql`UPDATE idempotency_keys SET request_hash = ${guess}`
      assert.strictEqual((yield* post("hashed", plain)).status, 422)
      yield* sql`UPDATE idempotency_keys SET request_hash = ${stored[0]?.request_hash}`
      assert.strictEqual((yield* post("hashed", plain)).text, first.text)
      yield* sql`UPDATE idempotency_keys SET request_hash = sha256(request_hash)`
      assert.strictEqual((yield* post("hashed", plain)).status, 422)
    })
  )

  it.effect("a key is refused for another body, path or query", () =>
    Effect.gen(function* () {
      yield* post("fixed", plain)
      const before = yield* counted
      const others = [
        post("fixed", { type: "plain", id: "x" }),
        post("fixed", '{ "type": "plain" }'),
        post("fixed", plain, { at: "/api/v1/notifications" }),
        post("fixed", plain, { at: "/api/v1/signers?x" })
      ]
      for (const other of others) {
        const answer = yield* other
        assert.strictEqual(answer.status, 422)
        assert.deepStrictEqual(answer.json, {
          data: null,
          message: "Idempotency key reused with a different request",
          success: false
        })
      }
      assert.deepStrictEqual(yield* counted, before)
    })
  )

  it.effect("two callers may use the same key", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const made = yield* api.call("/api/v1/api-keys", { body: { name: "other", scopes: ["signers:*"] } })
      const { key } = made.json.data as { key: string }
      const mine = yield* post("shared", plain)
      const theirs = yield* post("shared", { type: "plain", id: "theirs" }, { key })
      assert.deepStrictEqual([mine.status, theirs.status], [201, 201])
    })
  )

  it.effect("a refused request stores nothing, so that its key may be used for the corrected request", () =>
    Effect.gen(function* () {
      const before = yield* counted
      assert.strictEqual((yield* post("mended", { type: "plain", id: "a b" })).status, 400)
      assert.strictEqual((yield* post("mended", "{}", { headers: { "content-type": "text/plain" } })).status, 415)
      assert.strictEqual((yield* post("mended", plain, { key: "wrong" })).status, 401)
      const relayer = { name: "x", network: "sepolia", network_type: "evm", paused: false, signer_id: "late" }
      const at = "/api/v1/relayers"
      assert.strictEqual((yield* post("late", relayer, { at })).status, 400)
      assert.deepStrictEqual(yield* counted, before)
      assert.strictEqual((yield* post("mended", { type: "plain", id: "late" })).status, 201)
      assert.strictEqual((yield* post("late", relayer, { at })).status, 201)
      const etag = (yield* post("late", relayer, { at })).headers.get("etag")
      assert.match(etag ?? "", /\.1"$/)
    })
  )

  it.effect("concurrent replays of a finished request all get its response", () =>
    Effect.gen(function* () {
      const first = yield* post("finished", plain)
      const replays = yield* Effect.forEach(Array.from({ length: 30 }), () => post("finished", plain), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        [...new Set(replays.map(({ status, text }) => `${status} ${text}`))],
        [`201 ${first.text}`]
      )
    })
  )

  it.effect("one of several concurrent requests takes effect; the others get its response or 409", () =>
    Effect.gen(function* () {
      const [signers = 0] = yield* counted
      const answers = yield* Effect.forEach(Array.from({ length: 8 }), () => post("at-once", plain), {
        concurrency: "unbounded"
      })
      const done = answers.filter(({ status }) => status === 201)
      assert.isAtLeast(done.length, 1)
      assert.strictEqual(new Set(done.map(({ text }) => text)).size, 1)
      for (const answer of answers.filter(({ status }) => status !== 201)) {
        assert.deepStrictEqual(
          [answer.status, answer.json.message],
          [409, "Request with this idempotency key is still running"]
        )
      }
      assert.deepStrictEqual((yield* counted)[0], signers + 1)
    })
  )

  it.effect("a request is refused while another one with its key is running", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const release = yield* Deferred.make<void>()
      const held = yield* Deferred.make<void>()
      // A transaction that has the id keeps the first request waiting.
      const holder = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`INSERT INTO signers (id, type) VALUES ('contended', 'plain')`
            yield* Deferred.succeed(held, undefined)
            yield* Deferred.await(release)
            return yield* Effect.fail("rolled back")
          })
        )
      )
      yield* Deferred.await(held)
      const body = { type: "plain", id: "contended" }
      const first = yield* Effect.forkChild(post("running", body))
      const waiting = sql<{ n: bigint }>`
        SELECT count(*) AS n FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO signers%'`
      yield* Effect.repeat(waiting, { until: ([row]) => row?.n === 1n })
      const second = yield* post("running", body)
      assert.strictEqual(second.status, 409)
      assert.strictEqual(second.headers.get("retry-after"), "1")
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.await(holder)
      const answer = yield* Fiber.join(first)
      assert.strictEqual(answer.status, 201, answer.text)
      assert.strictEqual((yield* post("running", body)).text, answer.text)
    })
  )

  it.effect("a response is stored for 24 hours; then its key is free and a job deletes it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* post("forgotten", plain)
      const first = yield* post("a-day", plain)
      yield* TestClock.adjust(Duration.hours(24))
      assert.strictEqual((yield* post("a-day", plain)).text, first.text)
      yield* TestClock.adjust(Duration.millis(1))
      const second = yield* post("a-day", { type: "plain", id: "second" })
      assert.strictEqual(second.status, 201)
      assert.strictEqual((yield* post("a-day", { type: "plain", id: "second" })).text, second.text)
      const kept = sql<{ n: bigint }>`SELECT count(*) AS n FROM idempotency_keys`
      assert.deepStrictEqual(yield* kept, [{ n: 2n }])
      yield* Effect.scoped(
        Effect.andThen(
          Layer.build(Retentions.idempotency),
          Effect.repeat(kept, { until: ([after]) => after?.n === 1n })
        )
      )
    })
  )

  it.effect("the secret of a new API key is repeated to its caller and stored sealed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const at = "/api/v1/api-keys"
      const body = { name: "x", scopes: ["*"] }
      const first = yield* post("new-key", body, { at })
      assert.strictEqual(first.status, 201)
      assert.strictEqual((yield* post("new-key", body, { at })).text, first.text)
      const { key } = first.json.data as { key: string }
      const rows = yield* sql<{ body: Uint8Array }>`SELECT body_sealed AS body FROM idempotency_keys`
      for (const row of rows) assert.isFalse(Buffer.from(row.body).includes(key))
    })
  )

  it.effect("a malformed key is refused, and methods other than POST ignore it", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      for (const key of [" ", "x".repeat(256), "a b"]) {
        const answer = yield* post(key, plain)
        assert.strictEqual(answer.status, 400)
        assert.strictEqual(answer.json.error, "Idempotency-Key: Expected 1 to 255 visible ASCII characters")
      }
      const headers = { "idempotency-key": "read" }
      for (let n = 0; n < 2; n++) {
        const answer = yield* api.call("/api/v1/signers", { headers })
        assert.strictEqual(answer.status, 200)
        assert.isNull(answer.headers.get("idempotency-replayed"))
      }
    })
  )
})
