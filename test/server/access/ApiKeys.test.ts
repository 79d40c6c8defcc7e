// API keys: how they are created, shown once, rotated and revoked, and when they expire.
import { assert } from "@effect/vitest"
import { DateTime, Duration, Effect, Fiber, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { createHash } from "node:crypto"
import { ApiKeyId } from "../../../src/domain/access/ApiKey.ts"
import { ApiKeys } from "../../../src/server/access/ApiKeys.ts"
import { Authentication } from "../../../src/server/authentication/Authentication.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { call, make, statusOf } from "./requests.ts"
import type { Key } from "./requests.ts"

layerEach(TestApi.layer())("API keys", (it) => {
  it.effect("a key is shown once and stored as its hash", () =>
    Effect.gen(function* () {
      yield* LedgerRows.insertNamed("relayer-1")
      const created = yield* call("/api/v1/api-keys", {
        body: {
          name: "deploy",
          scopes: ["relayers:*", "events:read"],
          relayer_ids: ["relayer-1"],
          expires_at: "2100-01-02T03:04:05Z"
        }
      })
      assert.strictEqual(created.status, 201, created.text)
      const { key, ...shown } = created.json.data as Key
      assert.match(key, /^er_key_[\w-]{49}$/)
      assert.strictEqual(created.headers.get("location"), `/api/v1/api-keys/${shown.id}`)
      assert.deepInclude(shown, {
        name: "deploy",
        scopes: ["relayers:*", "events:read"],
        relayer_ids: ["relayer-1"],
        expires_at: "2100-01-02T03:04:05.000Z"
      })
      for (const path of [`/api/v1/api-keys/${shown.id}`, "/api/v1/api-keys", "/api/v1/audit"]) {
        const answer = yield* call(path)
        assert.strictEqual(answer.status, 200)
        assert.include(answer.text, shown.id)
        assert.notInclude(answer.text, key)
      }
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{ text: string; hash: Uint8Array }>`SELECT api_keys::text AS text, hash FROM api_keys`
      assert.notInclude(row?.text, key)
      assert.deepStrictEqual(Buffer.from(row?.hash ?? []), createHash("sha256").update(key).digest())
    })
  )

  it.effect("after a rotation both keys work until the overlap ends, then only the new one", () =>
    Effect.gen(function* () {
      const first = yield* make({ scopes: ["relayers:read"] })
      const rotate = (body?: object) =>
        call(`/api/v1/api-keys/${first.id}/rotate`, body === undefined ? { method: "POST" } : { body })
      const works = (key: string) => Effect.map(statusOf("/api/v1/relayers", { key }), (status) => status === 200)

      const answer = yield* rotate({ overlap_seconds: 600 })
      assert.strictEqual(answer.status, 200, answer.text)
      const second = answer.json.data as Key
      assert.strictEqual(second.id, first.id)
      assert.notStrictEqual(second.key, first.key)
      const until = DateTime.makeUnsafe(second.previous_expires_at ?? "")
      assert.strictEqual(until.epochMilliseconds, (yield* DateTime.now).epochMilliseconds + 600_000)
      assert.deepStrictEqual([yield* works(first.key), yield* works(second.key)], [true, true])
      yield* TestClock.adjust(Duration.seconds(601))
      assert.deepStrictEqual([yield* works(first.key), yield* works(second.key)], [false, true])

      const third = (yield* rotate()).json.data as Key
      yield* TestClock.adjust(Duration.hours(23))
      assert.deepStrictEqual([yield* works(second.key), yield* works(third.key)], [true, true])
      const fourth = (yield* rotate({ overlap_seconds: 0 })).json.data as Key
      const all = yield* Effect.forEach([first, second, third, fourth], ({ key }) => works(key))
      assert.deepStrictEqual(all, [false, false, false, true])
    })
  )

  it.effect("a key stops working when it expires or is revoked", () =>
    Effect.gen(function* () {
      const now = yield* DateTime.now
      const expires_at = DateTime.formatIso(DateTime.addDuration(now, Duration.minutes(5)))
      const temporary = yield* make({ scopes: ["*"], expires_at })
      assert.strictEqual(yield* statusOf("/api/v1/relayers", { key: temporary.key }), 200)
      yield* TestClock.adjust(Duration.minutes(5))
      const expired = yield* call("/api/v1/relayers", { key: temporary.key })
      assert.deepStrictEqual([expired.status, expired.json.message], [401, "Unauthorized"])

      const revoked = yield* make({ scopes: ["*"] })
      const deleted = yield* call(`/api/v1/api-keys/${revoked.id}`, { key: revoked.key, method: "DELETE" })
      assert.deepStrictEqual(deleted.json, { success: true, data: { revoked: [revoked.id], remaining: [] } })
      assert.strictEqual(yield* statusOf("/api/v1/relayers", { key: revoked.key }), 401)
      const missing = yield* call(`/api/v1/api-keys/${revoked.id}`)
      assert.deepStrictEqual([missing.status, missing.json.message], [404, "API key not found"])
    })
  )

  it.effect("a key that is in use loses what it may do with the next request, whoever takes it away", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const narrowed = yield* make({ scopes: ["relayers:read", "signers:read"] })
      const removed = yield* make({ scopes: ["relayers:read"] })
      const useAll = Effect.forEach([narrowed, removed], ({ key }) => statusOf("/api/v1/relayers", { key }))
      for (let times = 0; times < 3; times++) assert.deepStrictEqual(yield* useAll, [200, 200])
      yield* call(`/api/v1/api-keys/${narrowed.id}`, { method: "PATCH", body: { scopes: ["signers:read"] } })
      // Another instance knows nothing of what this one remembers.
      yield* sql`DELETE FROM api_keys WHERE id = ${removed.id}`
      assert.deepStrictEqual(yield* useAll, [403, 401])
      assert.deepStrictEqual(yield* useAll, [403, 401])
      assert.strictEqual(yield* statusOf("/api/v1/signers", { key: narrowed.key }), 200)
    })
  )

  it.effect("a key that was revoked in a transaction that is rolled back still works", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { authenticate } = yield* Authentication
      const { id, key } = yield* make({ scopes: ["relayers:read"] })
      const caller = authenticate(Redacted.make(key), undefined)
      const revoked = Effect.gen(function* () {
        yield* (yield* ApiKeys).delete(ApiKeyId.make(id))
        assert.strictEqual((yield* Effect.flip(caller))._tag, "Unauthorized")
        return yield* Effect.fail("undone")
      })
      assert.strictEqual(yield* Effect.flip(sql.withTransaction(revoked)), "undone")
      assert.strictEqual((yield* caller).id, id)
    })
  )

  it.effect("the last use is stored with its address, at most once a minute", () =>
    Effect.gen(function* () {
      const { id, key } = yield* make({ scopes: ["relayers:read"] })
      const sql = yield* SqlClient.SqlClient
      const use = Effect.gen(function* () {
        yield* call("/api/v1/relayers", { key })
        // The use is stored after the response.
        const read = sql<{ at: Date | null; from: string | null }>`
          SELECT last_used_at AS at, last_used_from AS from FROM api_keys WHERE id = ${id}`
        const [row] = yield* awaited(read, ([row]) => row?.at !== null)
        return row
      })
      const first = yield* use
      assert.strictEqual(first?.from, "127.0.0.1")
      yield* TestClock.adjust(Duration.seconds(59))
      assert.deepStrictEqual((yield* use)?.at, first?.at)
      yield* sql`UPDATE api_keys SET last_used_at = NULL WHERE id = ${id}`
      yield* TestClock.adjust(Duration.seconds(2))
      assert.strictEqual((yield* use)?.at?.getTime(), (yield* DateTime.now).epochMilliseconds)
      const { json } = yield* call(`/api/v1/api-keys/${id}`)
      assert.strictEqual((json.data as Key).last_used_from, "127.0.0.1")
    })
  )

  it.effect("a key names only relayers that exist, and each other id is named", () =>
    Effect.gen(function* () {
      yield* LedgerRows.insertNamed("treasury")
      const body = { name: "x", scopes: ["relayers:read"], relayer_ids: ["trasury", "treasury", "payouts"] }
      const { status, json } = yield* call("/api/v1/api-keys", { body })
      assert.deepStrictEqual(
        [status, json.error],
        [
          400,
          "relayer_ids.0: no relayer has the id trasury; create the relayer before its key; relayer_ids.2: no relayer has the id payouts; create the relayer before its key"
        ]
      )
      assert.isEmpty((yield* call("/api/v1/api-keys")).json.data)
    })
  )

  it.effect("a key that is created while its relayer is deleted is refused", () =>
    Effect.gen(function* () {
      yield* LedgerRows.insertNamed("treasury")
      const sql = yield* SqlClient.SqlClient
      const body = { name: "x", scopes: ["relayers:read"], relayer_ids: ["treasury"] }
      const creating = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`DELETE FROM relayers WHERE id = 'treasury'`
          const fiber = yield* Effect.forkChild(call("/api/v1/api-keys", { body }), { startImmediately: true })
          const waiting = sql`SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`
          yield* awaited(waiting, (rows) => rows.length > 0)
          return fiber
        })
      )
      const { status, json } = yield* Fiber.join(creating)
      assert.deepStrictEqual(
        [status, json.error],
        [400, "relayer_ids.0: no relayer has the id treasury; create the relayer before its key"]
      )
    })
  )

  it.effect("a malformed key is refused, and the error of an invalid request names the field", () =>
    Effect.gen(function* () {
      const { key } = yield* make({ scopes: ["*"] })
      const typed = `${key.slice(0, 12)}${key[12] === "a" ? "b" : "a"}${key.slice(13)}`
      for (const wrong of [typed, key.slice(0, -1), `${key}x`, key.toUpperCase(), "er_key_"]) {
        assert.strictEqual(yield* statusOf("/api/v1/relayers", { key: wrong }), 401, wrong)
      }
      const cases: ReadonlyArray<readonly [object, RegExp]> = [
        [{ scopes: ["relayers:read", "relayers:wirte"] }, /^scopes\.1: Expected one of relayers:read, /],
        [{ scopes: [] }, /^scopes: /],
        [{}, /^scopes: is required/],
        [{ scopes: ["*"], relayer_ids: [] }, /^relayer_ids: /],
        [
          { scopes: ["relayers:read", "signers:read"], relayer_ids: ["a"] },
          /^scopes\.1: a key that is limited to relayers may not hold signers:read$/
        ],
        [{ scopes: ["*"], relayer_ids: ["a b"] }, /^relayer_ids\.0: /],
        [{ scopes: ["*"], expires_at: "tomorrow" }, /^expires_at: /],
        [{ scopes: ["*"], expires_at: "1969-01-01T00:00:00Z" }, /^expires_at: must be in the future$/],
        [{ scopes: ["*"], key: "mine" }, /^key: is not a known field \(known: id, name, scopes, /],
        [{ scopes: ["*"], name: "" }, /^name: /]
      ]
      for (const [body, error] of cases) {
        const answer = yield* call("/api/v1/api-keys", { body: { name: "x", ...body } })
        assert.strictEqual(answer.status, 400, answer.text)
        assert.match(answer.json.error ?? "", error)
      }
      const rotate = yield* call("/api/v1/api-keys/nobody/rotate", { body: { overlap_seconds: -1 } })
      assert.strictEqual(rotate.json.error, "overlap_seconds: Expected an integer from 0 to 2592000")
      assert.strictEqual(yield* statusOf("/api/v1/api-keys/nobody/rotate", { body: {} }), 404)
    })
  )
})
