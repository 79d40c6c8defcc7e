// API keys with ids of their own, and changes of API keys: what they keep, and what nobody may change.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { call, make, statusOf } from "./requests.ts"
import type { Key } from "./requests.ts"

const change = (id: string, body: object, options: TestApi.Call = {}) =>
  call(`/api/v1/api-keys/${id}`, { method: "PATCH", body, ...options })

const actions = Effect.fnUntraced(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ action: string }>`SELECT action FROM audit WHERE action <> 'key.refused' ORDER BY id`
  return rows.map(({ action }) => action)
})

layerEach(TestApi.layer())("changes of API keys", (it) => {
  it.effect("a key has the id that its creator chooses, and a second key cannot have it", () =>
    Effect.gen(function* () {
      const created = yield* call("/api/v1/api-keys", { body: { id: "shop", name: "Shop", scopes: ["relayers:read"] } })
      assert.strictEqual(created.status, 201, created.text)
      assert.strictEqual(created.headers.get("location"), "/api/v1/api-keys/shop")
      assert.strictEqual((created.json.data as Key).id, "shop")
      const again = yield* call("/api/v1/api-keys", { body: { id: "shop", name: "Other", scopes: ["relayers:read"] } })
      assert.strictEqual(again.status, 409, again.text)
      const reserved = yield* call("/api/v1/api-keys", { body: { id: "administrator", name: "A", scopes: ["*"] } })
      assert.strictEqual(reserved.status, 400)
      assert.strictEqual(reserved.json["error"], "id: is the id of a caller that is no API key")
    })
  )

  it.effect("the id of a revoked key whose limits are still stored is not used again", () =>
    Effect.gen(function* () {
      yield* make({ id: "limited", scopes: ["transactions:*"], transaction_limits: { max_fee_per_day: "5" } })
      yield* make({ id: "free", scopes: ["relayers:read"] })
      for (const id of ["limited", "free"]) yield* call(`/api/v1/api-keys/${id}`, { method: "DELETE" })
      const create = (id: string) =>
        statusOf("/api/v1/api-keys", { body: { id, name: "again", scopes: ["relayers:read"] } })
      assert.deepStrictEqual([yield* create("limited"), yield* create("free")], [409, 201])
    })
  )

  it.effect("a change applies to the next request, and the key stays", () =>
    Effect.gen(function* () {
      const { key } = yield* make({ id: "shop", scopes: ["relayers:read"] })
      const before = yield* call("/api/v1/api-keys/shop")
      assert.strictEqual(yield* statusOf("/api/v1/signers", { key }), 403)
      const patch = { name: "Shop 2", scopes: ["signers:read"], transaction_limits: { max_value: "7" } }
      const changed = yield* change("shop", patch)
      assert.strictEqual(changed.status, 200, changed.text)
      assert.notStrictEqual(changed.headers.get("etag"), before.headers.get("etag"))
      assert.strictEqual(yield* statusOf("/api/v1/signers", { key }), 200)
      assert.strictEqual(yield* statusOf("/api/v1/relayers", { key }), 403)
      const after = yield* call("/api/v1/api-keys/shop")
      assert.strictEqual(after.headers.get("etag"), changed.headers.get("etag"))
      assert.deepInclude(after.json.data, { name: "Shop 2", scopes: ["signers:read"] })
      assert.deepStrictEqual(yield* actions(), ["key.created", "key.updated"])
    })
  )

  it.effect("null removes, absent stays, and limits of fees follow the change", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const limits = sql<{ type: string; maximum: string }>`
        SELECT network_type AS type, maximum::text AS maximum FROM api_key_fee_limits ORDER BY network_type`
      yield* LedgerRows.insertNamed("one")
      yield* make({
        id: "shop",
        scopes: ["transactions:*"],
        relayer_ids: ["one"],
        expires_at: "2100-01-01T00:00:00Z",
        transaction_limits: { max_value: "9", max_fee_per_day: "5" }
      })
      yield* change("shop", { transaction_limits: { max_fee_per_day: "6", solana: { max_fee_per_day: "3" } } })
      assert.deepStrictEqual(yield* limits, [
        { type: "evm", maximum: "6" },
        { type: "solana", maximum: "3" }
      ])
      const { data } = (yield* change("shop", { transaction_limits: { solana: null }, expires_at: null })).json
      assert.deepInclude(data, { relayer_ids: ["one"] })
      assert.notProperty(data, "expires_at")
      assert.deepStrictEqual((data as { transaction_limits: object }).transaction_limits, {
        max_value: "9",
        max_fee_per_day: "6"
      })
      assert.deepStrictEqual(yield* limits, [{ type: "evm", maximum: "6" }])
    })
  )

  it.effect("a change without effect writes nothing, and If-Match must name the current version", () =>
    Effect.gen(function* () {
      yield* make({ id: "shop", scopes: ["relayers:read"] })
      const { headers } = yield* call("/api/v1/api-keys/shop")
      const tag = headers.get("etag") ?? ""
      const same = yield* change("shop", { name: "test", scopes: ["relayers:read"], relayer_ids: null })
      assert.deepStrictEqual([same.status, same.headers.get("etag")], [200, tag])
      assert.deepStrictEqual(yield* actions(), ["key.created"])
      assert.strictEqual((yield* change("shop", { name: "a" }, { headers: { "if-match": tag } })).status, 200)
      assert.strictEqual((yield* change("shop", { name: "b" }, { headers: { "if-match": tag } })).status, 412)
    })
  )

  it.effect("bad changes name their fields and change nothing", () =>
    Effect.gen(function* () {
      yield* LedgerRows.insertNamed("one")
      yield* make({ id: "shop", scopes: ["relayers:read"] })
      const before = yield* call("/api/v1/api-keys/shop")
      const refused: ReadonlyArray<readonly [object, string]> = [
        [{ expires_at: "1969-01-01T00:00:00Z" }, "expires_at: must be in the future"],
        [{ id: "other" }, "id: cannot be changed"],
        [{ transaction_limits: { max_valu: 1 } }, "transaction_limits.max_valu: is not a known field"],
        [
          { relayer_ids: ["one"], scopes: ["signers:read"] },
          "scopes.0: a key that is limited to relayers may not hold"
        ],
        [
          { relayer_ids: ["one", "onee"] },
          "relayer_ids.1: no relayer has the id onee; create the relayer before its key"
        ]
      ]
      for (const [body, error] of refused) {
        const answer = yield* change("shop", body)
        assert.strictEqual(answer.status, 400, answer.text)
        assert.include(String(answer.json["error"]), error)
      }
      assert.strictEqual((yield* change("nobody", { name: "a" })).status, 404)
      assert.deepStrictEqual((yield* call("/api/v1/api-keys/shop")).json.data, before.json.data)
    })
  )

  it.effect("a change keeps relayers that an earlier version let the key name, and adds none that do not exist", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* LedgerRows.insertNamed("one")
      yield* make({ id: "shop", scopes: ["relayers:read"], relayer_ids: ["one"] })
      yield* sql`UPDATE api_keys SET relayer_ids = '{gone}' WHERE id = 'shop'`
      assert.strictEqual((yield* change("shop", { name: "Shop 2" })).status, 200)
      const kept = yield* change("shop", { relayer_ids: ["one", "gone"] })
      assert.strictEqual(kept.status, 200, kept.text)
      const refused = yield* change("shop", { relayer_ids: ["gone", "other"] })
      assert.deepStrictEqual(
        [refused.status, refused.json.error],
        [400, "relayer_ids.1: no relayer has the id other; create the relayer before its key"]
      )
    })
  )

  it.effect("no caller gives more than it has, or changes its own key or those that it descends from", () =>
    Effect.gen(function* () {
      const parent = yield* make({
        id: "parent",
        scopes: ["api-keys:*", "transactions:*"],
        expires_at: "2100-01-01T00:00:00Z",
        transaction_limits: { max_value: "9" }
      })
      const child = yield* make({ id: "child", scopes: ["api-keys:write"] }, { key: parent.key })
      yield* make({ id: "leaf", scopes: ["transactions:read"] }, { key: parent.key })
      const by = (key: string) => (id: string, body: object) => change(id, body, { key })
      const wider = yield* by(parent.key)("leaf", { scopes: ["relayers:read"] })
      assert.strictEqual(wider.status, 403)
      for (const body of [{ expires_at: null }, { expires_at: "2100-01-02T00:00:00Z" }]) {
        const later = yield* by(parent.key)("leaf", body)
        assert.include(String(later.json["error"]), "expires_at: must not be absent or later than 2100-01-01")
      }
      for (const limits of [null, { max_value: "10" }]) {
        const more = yield* by(parent.key)("leaf", { transaction_limits: limits })
        assert.include(String(more.json["error"]), "transaction_limits: must be within the limits")
      }
      for (const id of ["child", "parent"]) {
        const own = yield* by(child.key)(id, { name: "mine" })
        assert.include(String(own.json["error"]), "key_id: is the key of the caller")
      }
      assert.strictEqual((yield* by(parent.key)("leaf", { transaction_limits: { max_value: "8" } })).status, 200)
    })
  )

  it.effect("a key keeps what keys that it has created have", () =>
    Effect.gen(function* () {
      const parent = yield* make({ id: "parent", scopes: ["api-keys:*", "relayers:*"] })
      yield* make({ id: "child", scopes: ["relayers:write"] }, { key: parent.key })
      const refused = yield* change("parent", { scopes: ["api-keys:*", "relayers:read"] })
      assert.strictEqual(refused.status, 400)
      assert.include(String(refused.json["error"]), "scopes: keys that it has created could do more")
      assert.include(String(refused.json["error"]), "child")
      const ended = yield* change("parent", { expires_at: "2100-01-01T00:00:00Z" })
      assert.include(String(ended.json["error"]), "expires_at: keys that it has created could do more")
      yield* change("child", { scopes: ["relayers:read"], expires_at: "2099-01-01T00:00:00Z" })
      const narrowed = { scopes: ["api-keys:*", "relayers:read"], expires_at: "2100-01-01T00:00:00Z" }
      assert.strictEqual((yield* change("parent", narrowed)).status, 200)
    })
  )
})
