// API keys that API keys have created, and keys that are limited to some relayers: the attacks of H5 and H6 of the security review.
import { assert } from "@effect/vitest"
import { DateTime, Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { maxCreatedKeys } from "../../../src/domain/access/ApiKey.ts"
import { evmRelayer, notification, signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { call, make, statusOf } from "./requests.ts"

const inMinutes = (minutes: number) =>
  Effect.map(DateTime.now, (now) => DateTime.formatIso(DateTime.addDuration(now, Duration.minutes(minutes))))

const works = (key: string) => Effect.map(statusOf("/api/v1/relayers", { key }), (status) => status === 200)

const scopes = ["api-keys:*", "relayers:*"]

layerEach(TestApi.layer())("derived API keys", (it) => {
  it.effect("a key expires no later than the key that created it", () =>
    Effect.gen(function* () {
      const expires_at = yield* inMinutes(5)
      const parent = yield* make({ scopes, expires_at })
      const child = yield* make({ scopes: ["relayers:read"] }, { key: parent.key })
      assert.strictEqual(child.expires_at, expires_at)
      const grandchild = yield* make({ scopes, expires_at: yield* inMinutes(2) }, { key: parent.key })
      const later = yield* call("/api/v1/api-keys", {
        key: parent.key,
        body: { name: "later", scopes: ["relayers:read"], expires_at: yield* inMinutes(6) }
      })
      assert.strictEqual(later.status, 400)
      assert.match(later.json.error ?? "", /^expires_at: must not be later than /)
      yield* TestClock.adjust(Duration.minutes(2))
      assert.deepStrictEqual([yield* works(child.key), yield* works(grandchild.key)], [true, false])
      yield* TestClock.adjust(Duration.minutes(3))
      assert.isFalse(yield* works(child.key))
    })
  )

  it.effect("a revocation lists the descendants that stay valid, or revokes them too", () =>
    Effect.gen(function* () {
      const [parent, other] = [yield* make({ scopes }), yield* make({ scopes })]
      const child = yield* make({ scopes }, { key: parent.key })
      const grandchild = yield* make({ scopes: ["relayers:read"] }, { key: child.key })
      const shown = yield* call(`/api/v1/api-keys/${grandchild.id}`)
      assert.strictEqual((shown.json.data as { created_by?: string }).created_by, child.id)

      const first = yield* call(`/api/v1/api-keys/${child.id}`, { method: "DELETE" })
      assert.deepStrictEqual(first.json.data, { revoked: [child.id], remaining: [grandchild.id] })
      assert.isTrue(yield* works(grandchild.key))
      const second = yield* call(`/api/v1/api-keys/${parent.id}?descendants=true`, { method: "DELETE" })
      assert.deepStrictEqual(second.json.data, { revoked: [parent.id, grandchild.id], remaining: [] })
      assert.deepStrictEqual(yield* Effect.forEach([parent, grandchild, other], ({ key }) => works(key)), [
        false,
        false,
        true
      ])
      const audit = yield* call("/api/v1/audit?action=key.deleted")
      assert.include(audit.text, grandchild.id)
    })
  )

  it.effect("only the key itself and the administrator rotate a key", () =>
    Effect.gen(function* () {
      const [mallory, peer] = [yield* make({ scopes }), yield* make({ scopes })]
      const rotate = (key?: string) =>
        statusOf(`/api/v1/api-keys/${peer.id}/rotate`, {
          body: { overlap_seconds: 60 },
          ...(key === undefined ? {} : { key })
        })
      assert.strictEqual(yield* rotate(mallory.key), 403)
      assert.strictEqual(yield* rotate((yield* make({ scopes: ["*"] })).key), 403)
      assert.strictEqual(yield* rotate(peer.key), 200)
      assert.strictEqual(yield* rotate(), 200)
    })
  )

  it.effect("a key has a limited number of keys that it created, directly or through others", () =>
    Effect.gen(function* () {
      const parent = yield* make({ scopes })
      const child = yield* make({ scopes }, { key: parent.key })
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO api_keys (id, name, hash, scopes, created_by, ancestors)
        SELECT 'derived-' || n, 'derived', sha256(n::text::bytea), '{relayers:read}', ${parent.id}, ARRAY[${parent.id}]
        FROM generate_series(3, ${maxCreatedKeys}::int) n`
      const create = call("/api/v1/api-keys", { key: parent.key, body: { name: "x", scopes: ["relayers:read"] } })
      const answers = yield* Effect.all([create, create, create], { concurrency: "unbounded" })
      assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [201, 409, 409])
      const refused = answers.find(({ status }) => status === 409)
      assert.strictEqual(refused?.json.message, "Too many API keys")
      assert.include(refused?.json.error, String(maxCreatedKeys))
      const byChild = yield* call("/api/v1/api-keys", {
        key: child.key,
        body: { name: "x", scopes: ["relayers:read"] }
      })
      assert.strictEqual(byChild.status, 409)
      // The administrator is not limited.
      yield* make({ scopes: ["relayers:read"] })
    })
  )

  it.effect("an unknown key that is repeated causes one query", () =>
    Effect.gen(function* () {
      const { key, id } = yield* make({ scopes })
      yield* call(`/api/v1/api-keys/${id}`, { method: "DELETE" })
      const lookUps = Effect.map(call("/metrics/database_query_seconds"), ({ text }) => {
        const found = /database_query_seconds_count\{[^}]*query="ApiKeysRepo\.findByHashes"[^}]*\} (\d+)/.exec(text)
        return Number(found?.[1] ?? 0)
      })
      assert.isFalse(yield* works(key))
      const before = yield* lookUps
      assert.isAbove(before, 0)
      for (let time = 0; time < 5; time++) assert.isFalse(yield* works(key))
      assert.strictEqual(yield* lookUps, before)
    })
  )
})

const world = Effect.gen(function* () {
  for (const [path, body] of [
    ["signers", signer],
    ["notifications", notification],
    ["notifications", { ...notification, id: "foreign" }],
    ["relayers", evmRelayer],
    ["relayers", { ...evmRelayer, id: "other", name: "Other", notification_id: "foreign" }]
  ] as const) {
    const { status, text } = yield* call(`/api/v1/${path}`, { body })
    assert.strictEqual(status, 201, text)
  }
  return yield* make({ scopes: ["relayers:*", "events:read", "notifications:read"], relayer_ids: ["relayer-1"] })
})

layerEach(TestApi.layer())("API keys that are limited to some relayers", (it) => {
  it.effect("hold only scopes that reach no further than their relayers", () =>
    Effect.gen(function* () {
      for (const scope of [
        "signers:read",
        "notifications:write",
        "notifications:*",
        "networks:write",
        "audit:read",
        "*"
      ]) {
        const body = { name: "x", scopes: [scope], relayer_ids: ["relayer-1"] }
        const { status, json } = yield* call("/api/v1/api-keys", { body })
        assert.strictEqual(status, 400, scope)
        assert.include(json.error, `may not hold ${scope}`)
      }
      // A key of an earlier version may still hold such a scope.
      yield* LedgerRows.insertNamed("relayer-1")
      const { key, id } = yield* make({ scopes: ["relayers:read"], relayer_ids: ["relayer-1"] })
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE api_keys SET scopes = '{audit:read,relayers:read}' WHERE id = ${id}`
      assert.strictEqual(yield* statusOf("/api/v1/audit", { key }), 403)
      assert.strictEqual(yield* statusOf("/api/v1/relayers", { key }), 200)
    })
  )

  it.effect("see only the notifications of their relayers", () =>
    Effect.gen(function* () {
      const { key } = yield* world
      const list = yield* call("/api/v1/notifications", { key })
      assert.deepStrictEqual(
        (list.json.data as ReadonlyArray<{ id: string }>).map(({ id }) => id),
        ["notification-1"]
      )
      assert.deepInclude(list.json.pagination, { total_items: 1 })
      for (const path of ["", "/deliveries"]) {
        assert.strictEqual(yield* statusOf(`/api/v1/notifications/notification-1${path}`, { key }), 200)
        const foreign = yield* call(`/api/v1/notifications/foreign${path}`, { key })
        const missing = yield* call(`/api/v1/notifications/nobody${path}`, { key })
        assert.strictEqual(foreign.status, 404)
        assert.strictEqual(foreign.text, missing.text)
      }
    })
  )

  it.effect("create no relayer, and set no notification that none of their relayers has", () =>
    Effect.gen(function* () {
      const { key } = yield* world
      for (const id of ["relayer-1", "unused", undefined]) {
        assert.strictEqual(yield* statusOf("/api/v1/relayers", { key, body: { ...evmRelayer, id } }), 403)
      }
      const patch = (body: object) => call("/api/v1/relayers/relayer-1", { key, method: "PATCH", body })
      const [foreign, missing] = [
        yield* patch({ notification_id: "foreign" }),
        yield* patch({ notification_id: "nobody" })
      ]
      assert.strictEqual(foreign.status, 400)
      assert.strictEqual(foreign.text, missing.text)
      assert.strictEqual((yield* patch({ notification_id: null })).status, 200)
      // Now none of its relayers has it.
      assert.strictEqual((yield* patch({ notification_id: "notification-1" })).status, 400)
      assert.strictEqual((yield* patch({ name: "renamed" })).status, 200)
    })
  )
})
