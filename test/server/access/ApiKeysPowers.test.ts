// API keys: what they may do, and that they cannot create more powerful keys.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { evmRelayer, notification, signer } from "../../../testkit/fixtures.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { call, make, statusOf } from "./requests.ts"

/** What is asked with which scope; a body that would be refused, so that nothing changes. */
const uses: Record<string, readonly [string, TestApi.Call]> = {
  "relayers:read": ["/api/v1/relayers", {}],
  "relayers:write": ["/api/v1/relayers", { body: {} }],
  "signers:read": ["/api/v1/signers", {}],
  "signers:write": ["/api/v1/signers", { body: {} }],
  "notifications:read": ["/api/v1/notifications", {}],
  "notifications:write": ["/api/v1/notifications", { body: {} }],
  "networks:read": ["/api/v1/networks", {}],
  "networks:write": ["/api/v1/networks", { body: {} }],
  "api-keys:read": ["/api/v1/api-keys", {}],
  "api-keys:write": ["/api/v1/api-keys", { body: {} }],
  "audit:read": ["/api/v1/audit", {}]
}

layer(TestApi.layer())("what API keys may do", (it) => {
  it.effect(
    "each scope allows the endpoints that require it and no others; wildcards allow those of their resource",
    () =>
      Effect.gen(function* () {
        const grants = [...Object.keys(uses), "relayers:*", "audit:*", "*"]
        for (const grant of grants) {
          const { key } = yield* make({ scopes: [grant] })
          for (const [scope, [path, options]] of Object.entries(uses)) {
            const status = yield* statusOf(path, { ...options, key })
            const allowed =
              grant === "*" || grant === scope || (grant.endsWith(":*") && scope.startsWith(grant.slice(0, -1)))
            if (allowed) assert.include([200, 400], status, `${grant} ${scope}`)
            else assert.strictEqual(status, 403, `${grant} ${scope}`)
          }
        }
        const { key } = yield* make({ scopes: ["relayers:read"] })
        const forbidden = yield* call("/api/v1/signers", { key })
        assert.deepStrictEqual(forbidden.json, { data: null, message: "Forbidden", success: false })
        assert.strictEqual(yield* statusOf("/api/v1/master-key/rotate", { method: "POST", key }), 403)
        assert.strictEqual(yield* statusOf("/api/v1/nothing", { key }), 404)
      })
  )

  it.effect("a key that is limited to some relayers reads and changes no other", () =>
    Effect.gen(function* () {
      yield* call("/api/v1/signers", { body: signer })
      yield* call("/api/v1/signers", { body: { ...signer, id: "signer-2" } })
      yield* call("/api/v1/notifications", { body: notification })
      yield* call("/api/v1/relayers", { body: evmRelayer })
      yield* call("/api/v1/relayers", { body: { ...evmRelayer, id: "other", signer_id: "signer-2" } })
      const { key } = yield* make({ scopes: ["relayers:*"], relayer_ids: ["relayer-1"] })
      const ids = Effect.map(call("/api/v1/relayers", { key }), ({ json }) => ({
        ids: (json.data as ReadonlyArray<{ id: string }>).map(({ id }) => id),
        total: (json.pagination as { total_items: number }).total_items
      }))
      assert.deepStrictEqual(yield* ids, { ids: ["relayer-1"], total: 1 })
      assert.strictEqual(yield* statusOf("/api/v1/relayers/relayer-1", { key }), 200)
      for (const id of ["other", "nobody"]) {
        assert.strictEqual(yield* statusOf(`/api/v1/relayers/${id}`, { key }), 403)
        assert.strictEqual(
          yield* statusOf(`/api/v1/relayers/${id}`, { key, method: "PATCH", body: { name: "x" } }),
          403
        )
        assert.strictEqual(yield* statusOf(`/api/v1/relayers/${id}`, { key, method: "DELETE" }), 403)
      }
      for (const body of [
        { ...evmRelayer, id: "to-come" },
        { ...evmRelayer, id: undefined }
      ]) {
        assert.strictEqual(yield* statusOf("/api/v1/relayers", { key, body }), 403)
      }
      assert.deepStrictEqual(yield* ids, { ids: ["relayer-1"], total: 1 })
    })
  )

  it.effect("a caller cannot create, rotate or revoke a key that can do more than its own", () =>
    Effect.gen(function* () {
      yield* LedgerRows.insertNamed("of-clerk")
      const strong = yield* make({ scopes: ["*"] })
      const clerk = yield* make({ scopes: ["api-keys:*", "relayers:read"] })
      const attempt = (body: object) => statusOf("/api/v1/api-keys", { key: clerk.key, body: { name: "x", ...body } })
      assert.strictEqual(yield* attempt({ scopes: ["relayers:read"] }), 201)
      assert.strictEqual(yield* attempt({ scopes: ["relayers:read"], relayer_ids: ["of-clerk"] }), 201)
      assert.strictEqual(yield* attempt({ scopes: ["api-keys:write", "relayers:read"] }), 201)
      for (const scopes of [["relayers:write"], ["relayers:*"], ["*"], ["relayers:read", "signers:read"]]) {
        assert.strictEqual(yield* attempt({ scopes }), 403, scopes.join())
      }
      const rotate = `/api/v1/api-keys/${strong.id}/rotate`
      assert.strictEqual(yield* statusOf(rotate, { key: clerk.key, body: {} }), 403)
      assert.strictEqual(yield* statusOf(`/api/v1/api-keys/${strong.id}`, { key: clerk.key, method: "DELETE" }), 403)
      assert.strictEqual(yield* statusOf("/api/v1/relayers", { key: strong.key }), 200)
    })
  )
})
