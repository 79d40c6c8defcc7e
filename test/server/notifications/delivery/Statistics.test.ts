// Statistics of a receiver: deliveries by steps, what waits, and what a limited key sees of it.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as LedgerRows from "../../../../testkit/LedgerRows.ts"
import * as Prepared from "../../../../testkit/Prepared.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"

/** The clock of tests begins with 1970. Deliveries about r1 in two minutes, one of r2 that waits, one that is too old, and a test. */
const prepare = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* LedgerRows.insertRelayers(2)
  yield* Prepared.create("notifications", { id: "hook", url: "https://hooks.example.com/x" })
  yield* Prepared.create("notifications", { id: "idle", url: "https://hooks.example.com/y" })
  yield* sql`
    WITH happened AS (
      INSERT INTO events (type, resource_id, relayer_id, data) VALUES
        ('relayer.paused', 'r1', 'r1', '{}'), ('relayer.paused', 'r2', 'r2', '{}') RETURNING id, relayer_id
    )
    INSERT INTO deliveries (id, notification_seq, event_id, lane, event, body, state, created_at, delivered_at, give_up_at)
    SELECT given.id, n.seq, h.id, given.lane, 'relayer.paused', '{}', given.state, given.created_at::timestamptz,
      given.delivered_at::timestamptz, '2026-01-03T00:00:00Z'
    FROM (VALUES
      ('d1', 'r1', 'delivered', '1969-12-31T23:58:10Z', '1969-12-31T23:58:10.100Z'),
      ('d2', 'r1', 'delivered', '1969-12-31T23:58:20Z', '1969-12-31T23:58:21Z'),
      ('d3', 'r1', 'failed', '1969-12-31T23:59:00Z', NULL),
      ('d4', 'r2', 'pending', '1969-12-31T23:59:30Z', NULL),
      ('d5', 'r1', 'delivered', '1969-12-31T21:00:00Z', '1969-12-31T21:00:01Z')
    ) AS given (id, lane, state, created_at, delivered_at)
    JOIN happened h ON h.relayer_id = given.lane JOIN notifications n ON n.id = 'hook'`
  yield* sql`
    INSERT INTO deliveries (id, notification_seq, lane, event, body, state, created_at)
    SELECT 'd6', seq, '', 'test', '{}', 'failed', '1969-12-31T23:59:31Z' FROM notifications WHERE id = 'hook'`
  yield* sql`UPDATE deliveries SET failed_at = '1969-12-31T23:59:10Z' WHERE id = 'd3'`
  yield* sql`UPDATE relayers SET notification_id = 'hook' WHERE id = 'r2'`
  yield* sql`UPDATE notifications SET failing_since = '1969-12-31T23:59:00Z' WHERE id = 'hook'`
})

interface Statistics {
  readonly steps: ReadonlyArray<{
    readonly at: string
    readonly delivered: number
    readonly failed: number
    readonly pending: number
    readonly p95_ms?: number
  }>
  readonly complete: boolean
  readonly pending: number
  readonly oldest_pending_at?: string
  readonly gives_up_at?: string
  readonly failing_since?: string
}

const path = "/api/v1/notifications/hook/statistics"

const read = Effect.fnUntraced(function* (query = "", key: string = TestApi.apiKey, of = path) {
  const { status, text, json } = yield* TestApi.call(`${of}${query}`, { key })
  assert.strictEqual(status, 200, text)
  return json.data as Statistics
})

const happened = ({ steps }: Statistics) =>
  steps.flatMap(({ at, delivered, failed, pending, p95_ms }) =>
    delivered + failed + pending === 0 ? [] : [[at.slice(11, 16), delivered, failed, pending, p95_ms]]
  )

layer(Prepared.layer(prepare))("statistics of deliveries", (it) => {
  it.effect("count deliveries by the minute in which they ended, without tests, and say what waits", () =>
    Effect.gen(function* () {
      const found = yield* read()
      assert.lengthOf(found.steps, 61)
      assert.deepStrictEqual(happened(found), [
        ["23:58", 2, 0, 0, 1000],
        ["23:59", 0, 1, 1, undefined],
        ["00:00", 0, 0, 1, undefined]
      ])
      assert.deepInclude(found, { complete: true, pending: 1 })
      assert.match(found.oldest_pending_at ?? "", /^1969-12-31T23:59:30/)
      assert.match(found.gives_up_at ?? "", /^2026-01-03T00:00:00/)
      assert.match(found.failing_since ?? "", /^1969-12-31T23:59:00/)
    })
  )

  it.effect("show an outage: what waited at the end of each minute, and the minute in which it was delivered", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.create("notifications", { id: "away", url: "https://hooks.example.com/z" })
      // Created before the hour, in the outage, and after it; `o4` was given up a minute ago.
      yield* sql`
        INSERT INTO deliveries (id, notification_seq, lane, event, body, state, created_at, delivered_at, give_up_at)
        SELECT given.id, n.seq, 'r1', 'relayer.paused', '{}', given.state, given.created_at::timestamptz,
          given.delivered_at::timestamptz, '1970-01-01T12:00:00Z'
        FROM (VALUES
          ('o1', 'delivered', '1969-12-31T20:00:00Z', '1969-12-31T23:56:10Z'),
          ('o2', 'delivered', '1969-12-31T23:54:00Z', '1969-12-31T23:56:11Z'),
          ('o3', 'delivered', '1969-12-31T23:57:00Z', '1969-12-31T23:57:01Z'),
          ('o4', 'failed', '1969-12-31T23:55:00Z', NULL),
          ('o5', 'delivered', '1969-12-31T20:00:00Z', '1969-12-31T20:01:00Z')
        ) AS given (id, state, created_at, delivered_at) JOIN notifications n ON n.id = 'away'`
      yield* sql`UPDATE deliveries SET failed_at = '1969-12-31T23:58:59Z' WHERE id = 'o4'`
      const found = yield* read("?since=1969-12-31T23:53:00Z", TestApi.apiKey, path.replace("hook", "away"))
      assert.deepStrictEqual(happened(found), [
        ["23:53", 0, 0, 1, undefined],
        ["23:54", 0, 0, 2, undefined],
        ["23:55", 0, 0, 3, undefined],
        ["23:56", 2, 0, 1, 14_170_000],
        ["23:57", 1, 0, 1, 1000],
        ["23:58", 0, 1, 0, undefined]
      ])
    })
  )

  it.effect("have the steps that are asked for, and name a field that is wrong", () =>
    Effect.gen(function* () {
      const found = yield* read("?since=1969-12-31T20:00:00Z&step=3600")
      assert.deepStrictEqual(
        happened(found).map(([at]) => at),
        ["21:00", "23:00", "00:00"]
      )
      for (const [query, field] of [
        ["since=1969-12-30T00:00:00Z", "since"],
        ["since=2026-01-02T13:00:00Z", "since"],
        ["step=0", "step"],
        ["step=x", "step"],
        ["since=yesterday", "since"],
        ["steps=1", "steps"]
      ]) {
        const { status, json } = yield* TestApi.call(`${path}?${query}`)
        assert.strictEqual(status, 400, query)
        assert.isTrue(json.error?.startsWith(`${field}: `), json.error)
      }
    })
  )

  it.effect("of a receiver without deliveries are empty", () =>
    Effect.gen(function* () {
      const found = yield* read("", TestApi.apiKey, path.replace("hook", "idle"))
      assert.isEmpty(happened(found))
      assert.deepInclude(found, { complete: true, pending: 0 })
      for (const absent of ["oldest_pending_at", "gives_up_at", "failing_since"]) assert.notProperty(found, absent)
      assert.strictEqual((yield* TestApi.call(path.replace("hook", "none"))).status, 404)
    })
  )

  it.effect("show a limited key only what is about its relayers", () =>
    Effect.gen(function* () {
      const key = yield* Prepared.createKey({ scopes: ["notifications:read"], relayer_ids: ["r2"] })
      const found = yield* read("", key)
      assert.deepStrictEqual(happened(found), [
        ["23:59", 0, 0, 1, undefined],
        ["00:00", 0, 0, 1, undefined]
      ])
      assert.notProperty(found, "failing_since")
      const other = yield* Prepared.createKey({ scopes: ["relayers:read"] })
      assert.strictEqual((yield* TestApi.call(path, { key: other })).status, 403)
    })
  )
})
