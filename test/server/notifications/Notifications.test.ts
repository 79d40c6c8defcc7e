// Notifications over HTTP: how they are changed, validated and deleted.
import { assert, layer } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Secrets } from "../../../src/server/secrets/Secrets.ts"
import { evmRelayer, notification, signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const path = "/api/v1/notifications/notification-1"

const patch = (body: unknown) => TestApi.call(path, { method: "PATCH", body })

/** The stored signing key, which signs the next deliveries. */
const storedKey = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const [row] = yield* sql<{ sealed: Uint8Array | null; url: string }>`
    SELECT signing_key_sealed AS sealed, url FROM notifications WHERE id = 'notification-1'`
  if (row?.sealed == null) return Option.none<string>()
  const place = { table: "notifications", id: "notification-1", column: "signing_key", context: { url: row.url } }
  return Option.some(Redacted.value(yield* secrets.open(row.sealed, place)))
})

layerEach(Prepared.layer(Prepared.references))("notifications", (it) => {
  it.effect("a patch changes the URL, and keeps, replaces or removes the signing key", () =>
    Effect.gen(function* () {
      const shown = { id: "notification-1", type: "webhook", url: notification.url, has_signing_key: true }

      const moved = yield* patch({ url: "https://hooks.example.com/moved" })
      assert.deepStrictEqual(
        [moved.status, moved.json.data],
        [200, { ...shown, url: "https://hooks.example.com/moved" }]
      )
      assert.deepStrictEqual(yield* storedKey, Option.some(notification.signing_key))

      for (const nothing of [{}, { signing_key: null, url: null, type: null }, { type: "webhook" }]) {
        assert.strictEqual((yield* patch(nothing)).text, moved.text)
      }
      assert.deepStrictEqual(yield* storedKey, Option.some(notification.signing_key))

      const replaced = yield* patch({ signing_key: "x".repeat(32) })
      assert.strictEqual(replaced.text, moved.text)
      assert.deepStrictEqual(yield* storedKey, Option.some("x".repeat(32)))

      const removed = yield* patch({ signing_key: "" })
      assert.deepInclude(removed.json.data, { has_signing_key: false })
      assert.deepStrictEqual(yield* storedKey, Option.none())
      assert.strictEqual((yield* TestApi.call(path)).text, removed.text)
    })
  )

  it.effect("a create without a signing key answers that its webhooks are not signed", () =>
    Effect.gen(function* () {
      const { signing_key, ...unsigned } = notification
      const create = (id: string, more: object = {}) =>
        TestApi.call("/api/v1/notifications", { body: { ...unsigned, id, ...more } })
      const { status, json } = yield* create("unsigned")
      assert.strictEqual(status, 201)
      const logs = (json as { readonly metadata?: { readonly logs: ReadonlyArray<object> } }).metadata?.logs ?? []
      assert.lengthOf(logs, 1)
      assert.deepInclude(logs[0], { level: "warn" })
      assert.include(JSON.stringify(logs), "webhooks of this notification are not signed")
      assert.notProperty((yield* create("signed", { signing_key })).json, "metadata")
    })
  )

  it.effect("a patch without effect makes no version, no event and no audit record", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const records = sql<{ audit: number; events: number }>`
        SELECT (SELECT count(*)::int FROM audit WHERE resource_id = 'notification-1') AS audit,
               (SELECT count(*)::int FROM events WHERE resource_id = 'notification-1') AS events`
      const found = yield* TestApi.call(path)
      const before = yield* records
      const same = [{}, { url: notification.url, paused: false }, { signing_key: notification.signing_key }]
      for (const body of same) {
        const repeated = yield* patch(body)
        assert.deepStrictEqual([repeated.text, repeated.headers.get("etag")], [found.text, found.headers.get("etag")])
      }
      assert.deepStrictEqual(yield* records, before)
      const changed = yield* patch({ signing_key: "x".repeat(32) })
      assert.notStrictEqual(changed.headers.get("etag"), found.headers.get("etag"))
      const removed = yield* patch({ signing_key: "" })
      assert.strictEqual((yield* patch({ signing_key: "" })).headers.get("etag"), removed.headers.get("etag"))
      assert.notDeepEqual(yield* records, before)
    })
  )

  it.effect("a notification has the four fields of the specification, and `paused` only while it is true", () =>
    Effect.gen(function* () {
      const body = { id: "four", url: notification.url }
      const created = yield* TestApi.call("/api/v1/notifications", { body })
      const shown = { id: "four", type: "webhook", url: notification.url, has_signing_key: false }
      assert.deepStrictEqual(created.json.data, shown)
      const at = "/api/v1/notifications/four"
      const pause = (paused: boolean) => TestApi.call(at, { method: "PATCH", body: { paused } })
      assert.deepStrictEqual((yield* pause(true)).json.data, { ...shown, paused: true })
      assert.deepStrictEqual((yield* TestApi.call(at)).json.data, { ...shown, paused: true })
      assert.deepStrictEqual((yield* pause(false)).json.data, shown)
      const listed = yield* TestApi.call("/api/v1/notifications")
      assert.deepInclude(listed.json.data, shown)
    })
  )

  it.effect("a URL with an internal address or with credentials is refused on create and on change", () =>
    Effect.gen(function* () {
      const before = yield* TestApi.call(path)
      const cases: ReadonlyArray<readonly [string, string]> = [
        ["http://hooks.example.com/x", "the URL has http instead of https, which is not allowed"],
        ["ftp://hooks.example.com/x", "Expected an http or https URL"],
        ["https://user:password@hooks.example.com/x", "Expected a URL without credentials"],
        ["https://10.0.0.1/x", "points to a private address, which is not allowed"],
        ["https://[fd00::1]/x", "points to a private address, which is not allowed"],
        ["https://169.254.169.254/latest/meta-data", "points to a cloud metadata address, which is not allowed"],
        ["https://0xa000001/x", "points to a private address, which is not allowed"]
      ]
      for (const [url, error] of cases) {
        for (const answer of [yield* patch({ url }), yield* TestApi.call("/api/v1/notifications", { body: { url } })]) {
          assert.strictEqual(answer.status, 400, url)
          assert.strictEqual(answer.json.error, `url: ${error}`)
        }
      }
      assert.strictEqual((yield* patch({ signing_key: "short" })).status, 400)
      assert.strictEqual(
        (yield* patch({ id: "other" })).json.error,
        "id: is not a known field (known: type, url, signing_key, paused)"
      )
      assert.strictEqual((yield* TestApi.call(path)).text, before.text)
      // The allow list of this test contains loopback.
      assert.strictEqual((yield* patch({ url: "http://127.0.0.1:9/x" })).status, 200)
    })
  )

  it.effect("a notification in use is not deleted, and the error names up to ten of its relayers", () =>
    Effect.gen(function* () {
      for (let n = 1; n <= 12; n++) {
        yield* TestApi.call("/api/v1/signers", { body: { ...signer, id: `signer-${n}` } })
        const body = { ...evmRelayer, id: `relayer-${n}`, signer_id: `signer-${n}` }
        assert.strictEqual((yield* TestApi.call("/api/v1/relayers", { body })).status, 201)
      }
      const remove = TestApi.call(path, { method: "DELETE" })
      const names = Array.from({ length: 10 }, (_, index) => `relayer-${index + 1}`).join(", ")
      const refused = yield* remove
      assert.strictEqual(refused.status, 409)
      assert.deepStrictEqual(refused.json, {
        data: null,
        message: "Notification is in use",
        success: false,
        error: `used by relayers: ${names}, and more`
      })
      for (let n = 1; n <= 11; n++) {
        yield* TestApi.call(`/api/v1/relayers/relayer-${n}`, { method: "PATCH", body: { notification_id: null } })
      }
      assert.strictEqual((yield* remove).json.error, "used by relayers: relayer-12")
      yield* TestApi.call("/api/v1/relayers/relayer-12", { method: "DELETE" })
      assert.deepStrictEqual((yield* remove).json, { success: true, data: "Notification deleted successfully" })
      for (const answer of [yield* remove, yield* TestApi.call(path), yield* patch({})]) {
        assert.deepStrictEqual([answer.status, answer.json.message], [404, "Notification not found"])
      }
    })
  )
})

layer(TestApi.layer({ outboundAllow: ["relay-api", "hooks.example", "10.1.0.0/16"] }))("a receiver by http", (it) => {
  it.effect("is accepted if the list of allowed hosts names its host or the range of its address", () =>
    Effect.gen(function* () {
      const at = "/api/v1/notifications"
      for (const url of ["http://relay-api:8080/x", "http://hooks.example/x", "http://10.1.2.3/x"]) {
        const created = yield* TestApi.call(at, { body: { url } })
        assert.strictEqual(created.status, 201, created.text)
        const { id } = created.json.data as { readonly id: string }
        const changed = yield* TestApi.call(`${at}/${id}`, { method: "PATCH", body: { url: `${url}/y` } })
        assert.strictEqual(changed.status, 200, changed.text)
      }
      const refused = {
        "http://relay-other:8080/x": "the URL has http instead of https, which is not allowed",
        "http://8.8.8.8/x": "the URL has http instead of https, which is not allowed",
        "http://10.2.0.1/x": "points to a private address, which is not allowed",
        "http://localhost/x": "points to a loopback host, which is not allowed"
      }
      for (const [url, error] of Object.entries(refused)) {
        const answer = yield* TestApi.call(at, { body: { url } })
        assert.deepStrictEqual([answer.status, answer.json.error], [400, `url: ${error}`])
      }
    })
  )
})
