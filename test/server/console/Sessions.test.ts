// Sessions: what they may do, all ways in which one ends, and what the audit log says about them.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql"
import * as ConsolePage from "../../../testkit/ConsolePage.ts"
import { evmRelayer, signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const files = ConsolePage.files
const relayers = "/api/v1/relayers"
const automatic = { "x-console-auto": "1" }

interface Created {
  readonly id: string
  readonly key: string
}

const createKey = (body: object) =>
  Effect.map(
    TestApi.call("/api/v1/api-keys", { body: { name: "support", ...body } }),
    ({ json }) => json.data as Created
  )

interface Entry {
  readonly action: string
  readonly key_id: string
  readonly resource_id: string
  readonly request_id?: string
}

const audited = (query: string) =>
  Effect.map(TestApi.call(`/api/v1/audit?order=oldest&${query}`), ({ json }) => json.data as ReadonlyArray<Entry>)

const isAlive = (session: ConsolePage.SignedIn, options?: TestApi.Call) =>
  Effect.map(ConsolePage.statusOf(session, "/session", options), (status) => status === 200)

layerEach(TestApi.layer({ console: { files } }))("a session", (it) => {
  it.effect("says whose it is, what it may do, and when it ends", () =>
    Effect.gen(function* () {
      yield* LedgerRows.insertNamed("payouts")
      const { id, key } = yield* createKey({ scopes: ["relayers:read", "relayers:write"], relayer_ids: ["payouts"] })
      const answer = yield* ConsolePage.trySignIn(key, { headers: { "user-agent": "B".repeat(300) } })
      const session = ConsolePage.sessionOf(answer)
      const shown = {
        id: session.id,
        key_id: id,
        key_name: "support",
        scopes: ["relayers:read", "relayers:write"],
        relayer_ids: ["payouts"],
        read_only: false,
        created_at: "1970-01-01T00:00:00.000Z",
        expires_at: "1970-01-01T08:00:00.000Z",
        idle_ends_at: "1970-01-01T00:30:00.000Z"
      }
      assert.deepStrictEqual(answer.json.data, { ...shown, proof: session.proof })
      const current = yield* ConsolePage.call(session, "/session")
      assert.deepStrictEqual(current.json.data, shown)
      const list = yield* ConsolePage.call(session, "/sessions")
      assert.deepStrictEqual(list.json.data, [
        {
          id: session.id,
          key_id: id,
          key_name: shown.key_name,
          read_only: false,
          created_at: shown.created_at,
          last_used_at: shown.created_at,
          expires_at: shown.expires_at,
          idle_ends_at: shown.idle_ends_at,
          from: "127.0.0.1",
          browser: "B".repeat(128),
          current: true
        }
      ])
    })
  )

  it.effect("has the present scopes of its key, and answers as the API does", () =>
    Effect.gen(function* () {
      yield* Prepared.create("signers", signer)
      yield* Prepared.create("relayers", { ...evmRelayer, notification_id: null })
      const { id, key } = yield* createKey({ scopes: ["relayers:read"] })
      const session = yield* ConsolePage.signIn(key)
      const own = yield* TestApi.call(`${relayers}/${evmRelayer.id}`, { key })
      const same = yield* ConsolePage.call(session, `${relayers}/${evmRelayer.id}`)
      assert.deepStrictEqual([same.status, same.text], [own.status, own.text])
      assert.strictEqual(same.headers.get("etag"), own.headers.get("etag"))
      const remove = ConsolePage.statusOf(session, `${relayers}/unknown`, { method: "DELETE" })
      assert.strictEqual(yield* remove, 403)
      yield* TestApi.call(`/api/v1/api-keys/${id}`, { method: "PATCH", body: { scopes: ["relayers:*"] } })
      assert.strictEqual(yield* remove, 404)
      yield* TestApi.call(`/api/v1/api-keys/${id}`, { method: "PATCH", body: { scopes: ["signers:read"] } })
      assert.strictEqual(yield* ConsolePage.statusOf(session, relayers), 403)
    })
  )

  it.effect("says whether its key limits what transactions may send, which the pages offer less to", () =>
    Effect.gen(function* () {
      for (const [limits, expected] of [
        [{}, undefined],
        [{ transaction_limits: { max_value: "5" } }, true]
      ] as const) {
        const { key } = yield* createKey({ scopes: ["relayers:write"], ...limits })
        const session = yield* ConsolePage.signIn(key)
        const { json } = yield* ConsolePage.call(session, "/session")
        assert.strictEqual(Reflect.get(Object(json.data), "has_transaction_limits"), expected)
      }
    })
  )

  it.effect("begins with a body of JSON only, and bad input names the field", () =>
    Effect.gen(function* () {
      const wrong = yield* ConsolePage.trySignIn(TestApi.apiKey, { headers: { "content-type": "text/plain" } })
      assert.deepStrictEqual([wrong.status, wrong.json.error], [415, "content-type: Expected application/json"])
      const extra = yield* ConsolePage.trySignIn(TestApi.apiKey, { body: { read_only: "yes", remember: true } })
      assert.strictEqual(extra.status, 400)
      for (const field of ["read_only", "remember"]) assert.include(extra.json.error ?? "", field)
    })
  )

  it.effect("knows unknown paths: 404 and 405 in a session, 401 without", () =>
    Effect.gen(function* () {
      const session = yield* ConsolePage.signIn(TestApi.apiKey)
      assert.strictEqual(yield* ConsolePage.statusOf(session, "/api/v1/unknown"), 404)
      assert.strictEqual(yield* ConsolePage.statusOf(session, relayers, { method: "PUT" }), 405)
      assert.strictEqual(yield* ConsolePage.statusOf({ ...session, cookie: "" }, "/api/v1/unknown"), 401)
    })
  )

  it.effect("and its key learn what they may do, whatever that is", () =>
    Effect.gen(function* () {
      const expires_at = "1970-02-01T00:00:00.000Z"
      yield* LedgerRows.insertNamed("payouts")
      const { id, key } = yield* createKey({ scopes: ["relayers:*"], relayer_ids: ["payouts"], expires_at })
      const path = "/api/v1/api-keys/current"
      const shown = {
        id,
        name: "support",
        scopes: ["relayers:*"],
        relayer_ids: ["payouts"],
        created_at: "1970-01-01T00:00:00.000Z",
        expires_at
      }
      assert.deepStrictEqual((yield* TestApi.call(path, { key })).json.data, shown)
      const session = yield* ConsolePage.signIn(key, { body: { read_only: true } })
      assert.deepStrictEqual((yield* ConsolePage.call(session, path)).json.data, {
        ...shown,
        scopes: ["relayers:read"]
      })
      assert.deepStrictEqual((yield* TestApi.call(path)).json.data, { id: "administrator", scopes: ["*"] })
      assert.strictEqual((yield* TestApi.call(path, { key: null })).status, 401)
    })
  )

  it.effect("that is read-only lacks every scope that does not end in :read, also the administrator's", () =>
    Effect.gen(function* () {
      const session = yield* ConsolePage.signIn(TestApi.apiKey, { body: { read_only: true } })
      assert.strictEqual(yield* ConsolePage.statusOf(session, relayers), 200)
      assert.strictEqual(yield* ConsolePage.statusOf(session, "/api/v1/signers", { body: signer }), 403)
      assert.strictEqual(yield* ConsolePage.statusOf(session, "/api/v1/audit/checkpoints", { method: "POST" }), 403)
      const { json } = yield* ConsolePage.call(session, "/session")
      const { scopes } = json.data as { readonly scopes: ReadonlyArray<string> }
      assert.include(scopes, "transactions:read")
      assert.isEmpty(scopes.filter((scope) => !scope.endsWith(":read")))
    })
  )

  it.effect("ends eight hours after the sign-in, also if a person uses it", () =>
    Effect.gen(function* () {
      const session = yield* ConsolePage.signIn(TestApi.apiKey)
      for (let minutes = 20; minutes < 480; minutes += 20) {
        yield* TestClock.adjust("20 minutes")
        assert.isTrue(yield* isAlive(session), `${minutes} minutes`)
      }
      yield* TestClock.adjust("20 minutes")
      assert.isFalse(yield* isAlive(session))
    })
  )

  it.effect("ends 30 minutes after the last use by a person: requests of the page and streams do not count", () =>
    Effect.gen(function* () {
      const session = yield* ConsolePage.signIn(TestApi.apiKey)
      yield* TestClock.adjust("10 minutes")
      assert.isTrue(yield* isAlive(session))
      for (let passed = 0; passed < 25; passed += 5) {
        yield* TestClock.adjust("5 minutes")
        assert.isTrue(yield* isAlive(session, { headers: automatic }))
      }
      yield* TestClock.adjust("5 minutes")
      assert.isFalse(yield* isAlive(session, { headers: automatic }))
    })
  )

  it.effect("ends with its key: when the key is revoked, or expires", () =>
    Effect.gen(function* () {
      const revoked = yield* createKey({ scopes: ["relayers:read"] })
      const first = yield* ConsolePage.signIn(revoked.key)
      yield* TestApi.call(`/api/v1/api-keys/${revoked.id}`, { method: "DELETE" })
      assert.isFalse(yield* isAlive(first))
      const expiring = yield* createKey({ scopes: ["relayers:read"], expires_at: "1970-01-01T00:10:00Z" })
      const second = yield* ConsolePage.signIn(expiring.key)
      yield* TestClock.adjust("9 minutes")
      assert.isTrue(yield* isAlive(second))
      yield* TestClock.adjust("1 minute")
      assert.isFalse(yield* isAlive(second))
    })
  )

  it.effect("outlives a rotation of its key by the overlap", () =>
    Effect.gen(function* () {
      const { id, key } = yield* createKey({ scopes: ["relayers:read", "api-keys:write"] })
      const session = yield* ConsolePage.signIn(key)
      yield* TestApi.call(`/api/v1/api-keys/${id}/rotate`, { body: { overlap_seconds: 600 } })
      yield* TestClock.adjust("9 minutes")
      assert.isTrue(yield* isAlive(session))
      yield* TestClock.adjust("1 minute")
      assert.isFalse(yield* isAlive(session))
    })
  )

  it.effect("of a key is the oldest of twenty when another one begins", () =>
    Effect.gen(function* () {
      const { key } = yield* createKey({ scopes: ["relayers:read"] })
      const sessions: Array<ConsolePage.SignedIn> = []
      for (let count = 0; count < 21; count++) {
        sessions.push(yield* ConsolePage.signIn(key))
        yield* TestClock.adjust("1 second")
      }
      const alive = yield* Effect.forEach(sessions, (session) => isAlive(session))
      assert.deepStrictEqual(alive, [false, ...alive.slice(1).map(() => true)])
    })
  )

  it.effect("cannot be made up from rows of other sessions, not even by a writer of the database", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const mine = yield* ConsolePage.signIn((yield* createKey({ scopes: ["relayers:read"] })).key)
      const administrator = yield* ConsolePage.signIn(TestApi.apiKey)
      yield* sql`UPDATE console_sessions SET key_id = 'administrator' WHERE id = ${mine.id}`
      assert.isFalse(yield* isAlive(mine))
      yield* sql`
        UPDATE console_sessions SET binding = (SELECT binding FROM console_sessions WHERE id = ${administrator.id})
        WHERE id = ${mine.id}`
      assert.isFalse(yield* isAlive(mine))
      assert.isTrue(yield* isAlive(administrator))
    })
  )

  it.effect("is in the audit log from its sign-in to its end, and each change names it", () =>
    Effect.gen(function* () {
      const { id, key } = yield* createKey({ scopes: ["signers:write"] })
      const session = yield* ConsolePage.signIn(key)
      const headers = { "x-request-id": "form-1" }
      const created = yield* ConsolePage.call(session, "/api/v1/signers", { body: signer, headers })
      assert.strictEqual(created.status, 201)
      assert.strictEqual(created.headers.get("x-request-id"), `console:${session.id}:form-1`)
      yield* ConsolePage.call(session, "/session", { method: "DELETE" })
      const records = yield* audited(`key_id=${id}`)
      assert.deepStrictEqual(
        records.map(({ action, resource_id }) => [action, resource_id]),
        [
          ["session.created", session.id],
          ["signer.created", signer.id],
          ["session.ended", session.id]
        ]
      )
      assert.strictEqual(records[1]?.request_id, `console:${session.id}:form-1`)
    })
  )
})

layerEach(TestApi.layer({ console: { files } }))("the list of sessions", (it) => {
  it.effect("shows a key its own sessions, and with api-keys:write those of all keys", () =>
    Effect.gen(function* () {
      const support = yield* ConsolePage.signIn((yield* createKey({ scopes: ["relayers:read"] })).key)
      const manager = yield* ConsolePage.signIn((yield* createKey({ scopes: ["api-keys:write", "relayers:read"] })).key)
      const root = yield* ConsolePage.signIn(TestApi.apiKey)
      const ids = (session: ConsolePage.SignedIn) =>
        Effect.map(ConsolePage.call(session, "/sessions"), ({ json }) =>
          (json.data as ReadonlyArray<{ readonly id: string }>).map(({ id }) => id).sort()
        )
      const usedAt = Effect.map(TestApi.call("/api/v1/api-keys"), ({ json }) =>
        (json.data as ReadonlyArray<{ readonly last_used_at?: string }>).map(({ last_used_at }) => last_used_at)
      )
      yield* TestClock.adjust("10 minutes")
      const used = yield* usedAt
      const listed = (yield* ConsolePage.call(root, "/sessions")).json.data as ReadonlyArray<Record<string, unknown>>
      assert.deepStrictEqual(
        new Map(listed.map(({ id, key_name }) => [id, key_name])),
        new Map([
          [support.id, "support"],
          [manager.id, "support"],
          [root.id, undefined]
        ])
      )
      assert.deepStrictEqual(yield* usedAt, used, "to name a key is no use of it")
      assert.deepStrictEqual(yield* ids(support), [support.id])
      const all = [support.id, manager.id, root.id].sort()
      assert.deepStrictEqual(yield* ids(manager), all)
      assert.deepStrictEqual(yield* ids(root), all)

      const end = (by: ConsolePage.SignedIn, id: string) =>
        ConsolePage.statusOf(by, `/sessions/${id}`, { method: "DELETE" })
      assert.strictEqual(yield* end(support, manager.id), 404)
      assert.strictEqual(yield* end(support, "0".repeat(32)), 404)
      assert.strictEqual(yield* end(support, "no-session"), 400)
      assert.strictEqual(yield* end(manager, root.id), 403)
      assert.strictEqual(yield* end(manager, support.id), 200)
      assert.isFalse(yield* isAlive(support))
      assert.strictEqual(yield* end(root, manager.id), 200)
      assert.isFalse(yield* isAlive(manager))
      assert.isTrue(yield* isAlive(root))
    })
  )
})

layerEach(TestApi.layer({ console: { files }, limits: { requestsPerSecond: 4, burst: 40 } }))(
  "the rate limit",
  (it) => {
    it.effect("is that of the key, and requests of the page by itself take at most a quarter of it", () =>
      Effect.gen(function* () {
        const { key } = yield* createKey({ scopes: ["relayers:read"] })
        const session = yield* ConsolePage.signIn(key)
        const poll = ConsolePage.statusOf(session, relayers, { headers: automatic })
        const polled = yield* Effect.replicateEffect(poll, 11)
        assert.deepStrictEqual(polled, [...Array.from({ length: 10 }, () => 200), 429])
        const used = yield* Effect.replicateEffect(ConsolePage.statusOf(session, relayers), 29)
        assert.isTrue(used.every((status) => status === 200))
        assert.strictEqual((yield* TestApi.call(relayers, { key })).status, 200)
        assert.strictEqual((yield* TestApi.call(relayers, { key })).status, 429)
        assert.strictEqual(yield* ConsolePage.statusOf(session, relayers), 429)
      })
    )
  }
)
