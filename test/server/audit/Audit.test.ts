// The audit log: it has a record of every change, has no secrets, and shows tampering.
import { assert } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../../src/server/audit/Audit.ts"
import { evmRelayer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { call, change, changes, records, signingKey, verify, verifyAll } from "./Log.ts"
import type { Entry } from "./Log.ts"

layerEach(TestApi.layer())("an audit record", (it) => {
  it.effect("has the caller, the action, the request, and the resource before and after it, without secrets", () =>
    Effect.gen(function* () {
      const texts = yield* change
      const found = yield* records()
      assert.deepStrictEqual(
        found.map(({ action, request_id, key_id, client_address }) => [action, request_id, key_id, client_address]),
        changes.map(([action]) => [action, `for-${action}`, "administrator", "127.0.0.1"])
      )
      for (const { action, before, after } of found) {
        assert.strictEqual(before === undefined, /created|master_key/.test(action), action)
        assert.strictEqual(after === undefined, action.endsWith("deleted"), action)
      }
      const updated = found.find(({ action }) => action === "relayer.updated")
      assert.deepInclude(updated?.before, { name: "Payouts" })
      assert.deepInclude(updated?.after, {
        name: "New",
        custom_rpc_urls: [{ url: "https://rpc.example.com/***", weight: 100 }]
      })
      const { text } = yield* call("/api/v1/audit?limit=1000")
      assert.include(text, `"min_balance":340282366920938463463374607431768211455`)
      const { key } = JSON.parse(texts[7] ?? "").data
      for (const secret of [key, signingKey, "01".repeat(32), "net-secret", "rpc-secret", "secret-path"]) {
        assert.notInclude(text, secret)
      }
    })
  )
})

layerEach(Prepared.layer(change))("the audit log", (it) => {
  it.effect("has no record and no gap for a request that fails", () =>
    Effect.gen(function* () {
      const before = yield* records()
      yield* call("/api/v1/relayers", { body: evmRelayer })
      yield* call("/api/v1/relayers/nobody", { method: "DELETE" })
      yield* call("/api/v1/signers", { body: { type: "plain", id: "twice" } })
      yield* call("/api/v1/signers", { body: { type: "plain", id: "twice" } })
      const after = yield* records()
      assert.strictEqual(after.length, before.length + 1)
      assert.deepStrictEqual(
        after.map(({ position }) => position),
        after.map((_, index) => index + 1)
      )
    })
  )

  it.effect("is filtered and ordered, and its links lead through each record once", () =>
    Effect.gen(function* () {
      const all = yield* records()
      const ofRelayer = yield* records("&resource=relayer&resource_id=relayer-1")
      assert.deepStrictEqual(
        ofRelayer.map(({ action }) => action),
        ["relayer.created", "relayer.updated", "relayer.deleted"]
      )
      assert.strictEqual((yield* records("&action=key.created")).length, 1)
      assert.strictEqual((yield* records("&request_id=for-key.created")).length, 1)
      assert.strictEqual((yield* records("&key_id=nobody")).length, 0)
      assert.strictEqual((yield* records("&since=2000-01-01T00:00:00Z&until=2100-01-01T00:00:00Z")).length, all.length)
      assert.strictEqual((yield* records("&until=2000-01-01T00:00:00Z")).length, 0)
      const seen: Array<number> = []
      let next: string | undefined = "/api/v1/audit?limit=3"
      while (next !== undefined) {
        const answer: TestApi.Answer = yield* call(next)
        seen.push(...(answer.json.data as ReadonlyArray<Entry>).map(({ position }) => position))
        next = /^<([^>]+)>/.exec(answer.headers.get("link") ?? "")?.[1]
      }
      assert.deepStrictEqual(seen, all.map(({ position }) => position).toReversed())
      for (const query of [
        "cursor=x",
        "limit=-1",
        "action=relayer.eaten",
        "order=random",
        "since=yesterday",
        "colour=red"
      ]) {
        assert.strictEqual((yield* call(`/api/v1/audit?${query}`)).status, 400, query)
      }
    })
  )

  it.effect("shows the position at which a record was changed, removed or cut off", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const all = yield* records()
      const { head } = yield* verify()
      const anchor = `?position=${head.position}&hash=${head.hash}`
      assert.deepStrictEqual(yield* verify(anchor), { valid: true, checked: all.length, head })

      /** Runs `statement` without the triggers that protect the records, verifies, and restores them. */
      const tampered = (statement: Effect.Effect<unknown, unknown>, query = "") =>
        Effect.gen(function* () {
          yield* sql`CREATE TABLE kept AS SELECT * FROM audit`
          yield* sql`ALTER TABLE audit DISABLE TRIGGER USER`
          yield* statement
          const found = yield* verify(query)
          yield* sql`DELETE FROM audit`
          yield* sql`INSERT INTO audit OVERRIDING SYSTEM VALUE SELECT * FROM kept`
          yield* sql`DROP TABLE kept`
          yield* sql`ALTER TABLE audit ENABLE TRIGGER USER`
          return found
        })

      const columns = ["key_id", "action", "resource", "resource_id", "request_id", "client_address"]
      for (const column of columns) {
        const found = yield* tampered(sql`UPDATE audit SET ${sql(column)} = 'other' WHERE position = 4`)
        assert.deepInclude(found, { valid: false, broken_at: 4, checked: 3 }, column)
      }
      const changed = [
        tampered(sql`UPDATE audit SET at = at + interval '1 microsecond' WHERE position = 4`),
        tampered(sql`UPDATE audit SET after = replace(after::text, 'Payouts', 'Payout5')::json WHERE position = 4`),
        tampered(sql`UPDATE audit SET before = '{}' WHERE position = 4`),
        tampered(sql`DELETE FROM audit WHERE position = 4`),
        tampered(sql`UPDATE audit SET hash = sha256(hash) WHERE position = 4`)
      ]
      for (const [index, change] of changed.entries()) {
        assert.deepInclude(yield* change, { valid: false, broken_at: 4 }, String(index))
      }
      const cut = sql`DELETE FROM audit WHERE position >= ${head.position - 1}`
      assert.deepInclude(yield* tampered(cut), { valid: true })
      assert.deepInclude(yield* tampered(cut, anchor), { valid: false, broken_at: head.position - 1 })
      assert.deepInclude(yield* tampered(sql`DELETE FROM audit`, anchor), { valid: false, broken_at: 1 })
      assert.deepStrictEqual(yield* verify(anchor), { valid: true, checked: all.length, head })

      const half = yield* call("/api/v1/audit/verify?position=1")
      assert.deepStrictEqual([half.status, half.json.error], [400, "hash: must be given together with position"])
    })
  )

  it.effect("cannot be changed or deleted in the database", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      assert.isNotEmpty(yield* records())
      const attempts = [sql`UPDATE audit SET key_id = 'x'`, sql`DELETE FROM audit WHERE position = 1`]
      for (const attempt of attempts) assert.isTrue(Exit.isFailure(yield* Effect.exit(attempt)))
    })
  )

  it.effect("has each of many concurrent changes once", () =>
    Effect.gen(function* () {
      const from = (yield* records()).length
      yield* Effect.forEach(
        Array.from({ length: 40 }, (_, n) => `many-${n}`),
        (id) => call("/api/v1/notifications", { body: { id, url: "https://hooks.example.com/x" } }),
        { concurrency: 8 }
      )
      const added = (yield* records()).slice(from)
      assert.strictEqual(new Set(added.map(({ resource_id }) => resource_id)).size, 40)
      assert.strictEqual(added.length, 40)
      assert.isTrue((yield* verify()).valid)
    })
  )

  it.effect("is one chain if several requests link records at the same time", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      yield* sql`
        INSERT INTO audit (key_id, action, resource, resource_id)
        SELECT 'x', 'relayer.created', 'relayer', 'r' || n FROM generate_series(1, 2500) n`
      yield* Effect.all(
        Array.from({ length: 4 }, () => audit.list({})),
        { concurrency: "unbounded" }
      )
      assert.deepInclude(yield* verifyAll, { valid: true, checked: changes.length + 2500 })
    })
  )

  it.effect("cannot be truncated in the database", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const all = yield* records()
      assert.isTrue(Exit.isFailure(yield* Effect.exit(sql`TRUNCATE audit`)))
      assert.lengthOf(yield* records(), all.length)
    })
  )
})
