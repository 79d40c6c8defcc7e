// Requests that a key may not make, in the audit log.
import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { recordInterval } from "../../../src/server/access/KeyAuthentication.ts"
import { Authentication } from "../../../src/server/authentication/Authentication.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

interface Entry {
  readonly key_id: string
  readonly resource_id: string
  readonly request_id: string
  readonly client_address: string
  readonly after: { readonly scope: string; readonly method: string; readonly route: string; readonly count: number }
}

const call = TestApi.callBelow("/api/v1/")

const records = Effect.map(
  call("audit?action=key.refused&order=oldest"),
  ({ json }) => json.data as ReadonlyArray<Entry>
)

layerEach(TestApi.layer())("a refused request", (it) => {
  it.effect("is recorded with its key, scope, route and client", () =>
    Effect.gen(function* () {
      const { id, key } = (yield* call("api-keys", { body: { name: "x", scopes: ["relayers:read"] } })).json.data as {
        readonly id: string
        readonly key: string
      }
      const headers = { "x-request-id": "refused-1" }
      assert.strictEqual((yield* call("signers/some-id", { key, headers, method: "DELETE" })).status, 403)
      const [record, ...rest] = yield* records
      assert.isEmpty(rest)
      assert.deepInclude(record, {
        key_id: id,
        resource_id: id,
        request_id: "refused-1",
        client_address: "127.0.0.1",
        after: { scope: "signers:write", method: "DELETE", route: "/api/v1/signers/:signer_id", count: 1 }
      })
    })
  )

  it.effect("in a transaction that is rolled back does not count as recorded", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { authenticate } = yield* Authentication
      const key = Redacted.make(yield* Prepared.createKey({ scopes: ["relayers:read"] }))
      const endpoint = { group: "signers", endpoint: "list", method: "GET", route: "/api/v1/signers" }
      const use = { ...endpoint, scope: "signers:read" as const, relayerId: undefined, from: undefined }
      const refused = Effect.flip(authenticate(key, use))
      yield* Effect.flip(sql.withTransaction(Effect.andThen(refused, Effect.fail("undone"))))
      assert.isEmpty(yield* records)
      yield* sql.withTransaction(refused)
      yield* refused
      assert.deepStrictEqual(
        (yield* records).map(({ after }) => after.count),
        [1]
      )
    })
  )

  it.effect("of a narrowed key to another relayer is recorded", () =>
    Effect.gen(function* () {
      yield* LedgerRows.insertNamed("mine")
      const key = yield* Prepared.createKey({ scopes: ["relayers:*"], relayer_ids: ["mine"] })
      assert.strictEqual((yield* call("relayers/other", { key })).status, 403)
      const route = "/api/v1/relayers/:relayer_id"
      assert.deepStrictEqual(
        (yield* records).map(({ after }) => after),
        [{ scope: "relayers:read", method: "GET", route, count: 1 }]
      )
    })
  )

  it.effect("that is repeated a hundred times makes two records in a minute, and the second one counts", () =>
    Effect.gen(function* () {
      const key = yield* Prepared.createKey({ scopes: ["relayers:read"] })
      const refuse = Effect.forEach(Array.from({ length: 100 }), () => call("signers", { key }), { concurrency: 8 })
      assert.deepStrictEqual([...new Set((yield* refuse).map(({ status }) => status))], [403])
      // Another scope has its own records.
      yield* call("networks", { key })
      const counts = Effect.map(records, (found) => found.map(({ after }) => [after.scope, after.count]))
      const first = [
        ["signers:read", 1],
        ["networks:read", 1]
      ]
      assert.deepStrictEqual(yield* counts, first)
      yield* TestClock.adjust(recordInterval)
      const found = yield* awaited(counts, ({ length }) => length > 2)
      assert.deepStrictEqual(found, [...first, ["signers:read", 99]])
      yield* call("signers", { key })
      assert.deepStrictEqual(yield* counts, [...found, ["signers:read", 1]])
    })
  )
})

layerEach(TestApi.layer())("a verification of a signer", (it) => {
  it.effect("is recorded with its result", () =>
    Effect.gen(function* () {
      yield* Prepared.create("signers", signer)
      const { json } = yield* call(`signers/${signer.id}/verify`, { method: "POST" })
      const found = yield* call("audit?action=signer.verified")
      const [record, ...rest] = found.json.data as ReadonlyArray<{
        readonly resource_id: string
        readonly key_id: string
        readonly after: object
      }>
      assert.isEmpty(rest)
      assert.deepInclude(record, { resource_id: signer.id, key_id: "administrator", after: json.data as object })
      assert.deepInclude(record?.after, { verified: true })
    })
  )
})
