// Statistics of transactions: final ones by steps, how long they took, what is open, and what a limited key sees of it.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

/** The clock of tests begins with 1970. r1: four final transactions and a held one. r2: one that was confirmed, and one in flight. */
const prepare = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* LedgerRows.insertRelayers(3)
  const ids = [
    ...(yield* LedgerRows.insert(LedgerRows.account(1), 6)),
    ...(yield* LedgerRows.insert(LedgerRows.account(2), 2))
  ]
  const rows = [
    ["confirmed", "1969-12-31T23:58:00Z", "1969-12-31T23:58:10Z", "confirmed"],
    ["confirmed", "1969-12-31T23:58:00Z", "1969-12-31T23:58:59Z", "confirmed"],
    ["failed", "1969-12-31T23:00:00Z", "1969-12-31T23:59:01Z", "reverted"],
    ["expired", "1969-12-31T17:00:00Z", "1969-12-31T17:59:00Z", "deadline"],
    ["pending", "1969-12-31T23:30:00Z", null, "insufficient_funds"],
    ["pending", "1969-12-31T23:40:00Z", null, "queued"],
    ["confirmed", "1969-12-31T23:58:30Z", "1969-12-31T23:58:31Z", "confirmed"],
    ["submitted", "1969-12-31T23:50:00Z", null, "in_pool"]
  ]
  yield* sql`
    UPDATE transactions t SET state = given.state, code = given.code, created_at = given.created_at::timestamptz,
      final_at = given.final_at::timestamptz, nonce = CASE WHEN given.state = 'pending' THEN NULL ELSE given.n END,
      receipt = CASE WHEN given.state = 'confirmed' THEN '{}'::json END
    FROM (
      SELECT id, n, given.item ->> 0 AS state, given.item ->> 1 AS created_at, given.item ->> 2 AS final_at, given.item ->> 3 AS code
      FROM unnest(${ids}::uuid[], ARRAY(SELECT value FROM json_array_elements(${JSON.stringify(rows)}::text::json)))
        WITH ORDINALITY AS given (id, item, n)
    ) given WHERE t.id = given.id`
})

interface Statistics {
  readonly steps: ReadonlyArray<{
    readonly at: string
    readonly final: Readonly<Record<string, number>>
    readonly p50_ms?: number
    readonly p95_ms?: number
  }>
  readonly open: Readonly<Record<string, unknown>>
}

const read = Effect.fnUntraced(function* (query = "", key: string = TestApi.apiKey) {
  const { status, text, json } = yield* TestApi.call(`/api/v1/statistics${query}`, { key })
  assert.strictEqual(status, 200, text)
  return json.data as Statistics
})

const happened = ({ steps }: Statistics) =>
  steps.flatMap(({ at, final, p50_ms, p95_ms }) => {
    const { confirmed = 0, failed = 0, canceled = 0, expired = 0 } = final
    return confirmed + failed + canceled + expired === 0
      ? []
      : [[at.slice(11, 16), confirmed, failed, canceled, expired, p50_ms, p95_ms]]
  })

layer(Prepared.layer(prepare))("statistics of transactions", (it) => {
  it.effect("count final ones by the minute in which they became final, and open ones by their state", () =>
    Effect.gen(function* () {
      const found = yield* read()
      assert.lengthOf(found.steps, 61)
      assert.deepStrictEqual(happened(found), [
        ["23:58", 3, 0, 0, 0, 10_000, 59_000],
        ["23:59", 0, 1, 0, 0, undefined, undefined]
      ])
      assert.deepInclude(found.open, { pending: 2, in_flight: 1, held: 1 })
      assert.match(String(found.open.oldest_at), /^1969-12-31T23:30:00/)
    })
  )

  it.effect(
    "reach back seven days at most, in steps of whole quarters beyond six hours, and cover one relayer if the query names it",
    () =>
      Effect.gen(function* () {
        const { steps } = yield* read("?since=1969-12-31T18:00:00Z&step=3600")
        assert.lengthOf(steps, 7)
        const one = yield* read("?relayer_id=r2")
        assert.deepStrictEqual(happened(one), [["23:58", 1, 0, 0, 0, 1000, 1000]])
        assert.deepInclude(one.open, { pending: 0, in_flight: 1, held: 0 })
        const idle = yield* read("?relayer_id=r3")
        assert.isEmpty(happened(idle))
        assert.deepStrictEqual(idle.open, { pending: 0, in_flight: 0, held: 0 })
        for (const [query, message] of [
          ["since=1969-12-24T23:00:00Z&step=3600", "since: must be at most 168 hours ago"],
          ["since=1969-12-31T17:00:00Z", "step: must be a multiple of 900 seconds if `since` is more than 6 hours ago"]
        ] as const) {
          const refused = yield* TestApi.call(`/api/v1/statistics?${query}`)
          assert.deepStrictEqual([refused.status, refused.json.error], [400, message])
        }
        const sql = yield* SqlClient.SqlClient
        yield* sql`
        INSERT INTO transaction_sums (relayer_number, at, confirmed, failed, canceled, expired, buckets, counts)
        SELECT seq, '1969-12-31T01:15:00Z'::timestamptz, 2, 0, 1, 0, '{40, 60}'::smallint[], '{1, 1}'::integer[]
        FROM relayers WHERE id = 'r2'
        UNION ALL SELECT 0, '1969-12-31T18:00:00Z', 0, 0, 0, 0, '{}', '{}'`
        const day = yield* read("?since=1969-12-31T00:00:00Z&step=3600&relayer_id=r2")
        assert.lengthOf(day.steps, 25)
        assert.deepStrictEqual(happened(day), [
          ["01:00", 2, 0, 1, 0, 939, 30_048],
          ["23:00", 1, 0, 0, 0, 939, 939]
        ])
        assert.strictEqual((yield* TestApi.call("/api/v1/statistics?relayer_id=none")).status, 404)
      })
  )

  it.effect("show a limited key its relayers only, also if it names another one", () =>
    Effect.gen(function* () {
      const key = yield* Prepared.createKey({ scopes: ["transactions:read"], relayer_ids: ["r2"] })
      const found = yield* read("", key)
      assert.deepStrictEqual(happened(found), [["23:58", 1, 0, 0, 0, 1000, 1000]])
      assert.strictEqual((yield* TestApi.call("/api/v1/statistics?relayer_id=r1", { key })).status, 404)
      const other = yield* Prepared.createKey({ scopes: ["relayers:read"] })
      assert.strictEqual((yield* TestApi.call("/api/v1/statistics", { key: other })).status, 403)
    })
  )
})
