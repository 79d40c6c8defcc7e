// Lists of transactions over HTTP: filters, numbered pages and cursors.
import { assert } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { dataOf, makeKey, prepare, receiver, send, transactions } from "./Fixtures.ts"
import type { Shown } from "./Fixtures.ts"

const all = "/api/v1/transactions"

const get = Effect.fnUntraced(function* (path: string, call: TestApi.Call = {}) {
  const api = yield* TestApi.TestApi
  const answer = yield* api.call(path, call)
  assert.strictEqual(answer.status, 200, answer.text)
  const next = /<([^>]+)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1]
  const items = answer.json.data as ReadonlyArray<Shown>
  return { items, ids: items.map(({ id }) => id), next, pagination: answer.json.pagination }
})

const sent = (body: object = {}) => Effect.map(send({ to: receiver, ...body }), (answer) => dataOf(answer).id)

/** A transaction of the relayer `other`. */
const sentByOther = Effect.flatMap(TestApi.TestApi, ({ call }) =>
  Effect.map(call("/api/v1/relayers/other/transactions", { body: { to: receiver } }), (answer) => dataOf(answer).id)
)

const hashOf = (digit: string) => `0x${digit.repeat(64)}`

/** As if a lane had signed the transaction twice. */
const sign = Effect.fnUntraced(function* (id: string, hashes: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE transactions SET state = 'signed', nonce = 0 WHERE id = ${id}::uuid`
  yield* sql`
    INSERT INTO attempts (transaction_id, ordinal, kind, request_version, hash, raw, nonce, offer, epoch, signed_at)
    SELECT ${id}::uuid, ordinal, CASE WHEN ordinal = 1 THEN 'original' ELSE 'bump' END, 1, hash, '\\x02c0', 0,
      '{"type":"legacy","gasPrice":"1","gasLimit":"21000"}', 1, now()
    FROM unnest(${hashes}::text[]) WITH ORDINALITY AS given (hash, ordinal)`
})

/** The service counts a list to here. */
const counted = 10_000

/** Copies of the newest transaction, so that there are more than the service counts. Triggers would count each in the row of its lane. */
const multiply = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.withTransaction(
    Effect.andThen(
      sql`SET LOCAL session_replication_role = replica`,
      sql`
        INSERT INTO transactions
          (id, relayer_id, relayer_number, lane_id, request, state, code_since, valid_until, created_at)
        SELECT gen_random_uuid(), relayer_id, relayer_number, lane_id, request, state, code_since, valid_until, created_at
        FROM transactions, generate_series(1, ${counted + 50}::int)`
    )
  )
)

layerEach(TestApi.layer())("a list of transactions", (it) => {
  it.effect("finds a transaction by the hash of each of its attempts, in any case", () =>
    Effect.gen(function* () {
      yield* prepare()
      const id = yield* sent()
      yield* sent()
      yield* sign(id, [hashOf("a"), hashOf("b")])
      for (const hash of [hashOf("a"), hashOf("b"), hashOf("B").replace("0X", "0x")]) {
        for (const path of [transactions, all]) assert.deepStrictEqual((yield* get(`${path}?hash=${hash}`)).ids, [id])
      }
      assert.deepStrictEqual((yield* get(`${transactions}?hash=${hashOf("c")}`)).ids, [])
    })
  )

  it.effect("finds a transaction by external_id, and only that of the relayer", () =>
    Effect.gen(function* () {
      yield* prepare()
      const id = yield* sent({ external_id: "order-1" })
      yield* sent({ external_id: "order-2" })
      yield* sentByOther
      assert.deepStrictEqual((yield* get(`${transactions}?external_id=order-1`)).ids, [id])
      assert.deepStrictEqual((yield* get(`${all}?external_id=order-1`)).ids, [id])
      assert.deepStrictEqual((yield* get("/api/v1/relayers/other/transactions?external_id=order-1")).ids, [])
    })
  )

  it.effect("takes created_after with its moment and created_before without it", () =>
    Effect.gen(function* () {
      yield* prepare()
      const ids: Array<string> = []
      const moments: Array<string> = []
      for (let count = 0; count < 3; count++) {
        moments.push(encodeURIComponent(DateTime.formatIso(yield* DateTime.now)))
        ids.push(yield* sent())
        yield* TestClock.adjust("1 hour")
      }
      const [first = "", second = "", third = ""] = ids
      for (const path of [transactions, all]) {
        assert.deepStrictEqual((yield* get(`${path}?created_after=${moments[1]}`)).ids, [third, second])
        assert.deepStrictEqual((yield* get(`${path}?created_before=${moments[1]}`)).ids, [first])
        const between = yield* get(`${path}?created_after=${moments[1]}&created_before=${moments[2]}`)
        assert.deepStrictEqual(between.ids, [second])
      }
    })
  )

  it.effect("takes each status that is repeated, in any case, and refuses others with 400, which names the field", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const [canceled, signed, pending] = [yield* sent(), yield* sent(), yield* sent()]
      yield* call(`${transactions}/${canceled}`, { method: "DELETE" })
      yield* sign(signed, [hashOf("a")])
      for (const path of [transactions, all]) {
        assert.deepStrictEqual((yield* get(`${path}?status=sent&status=canceled`)).ids, [signed, canceled])
        assert.deepStrictEqual((yield* get(`${path}?per_page=5&status=SENT&status=Canceled`)).ids, [signed, canceled])
        assert.deepStrictEqual((yield* get(`${path}?status=pending`)).ids, [pending])
        assert.deepStrictEqual((yield* get(`${path}?status=pending&status=sent&hash=${hashOf("a")}`)).ids, [signed])
      }
      const invalid = {
        "status=gone": "status: Expected pending, sent, submitted, mined, confirmed, failed, canceled or expired",
        "hash=0x12": "hash: Expected a hash: 0x and 64 hex digits",
        [`hash=${"5c".repeat(32)}`]: "hash: Expected a hash: 0x and 64 hex digits",
        "created_after=yesterday": "created_after: Expected ",
        "external_id=": "external_id: Expected 1 to 255 characters",
        "colour=red": "colour: is not a known field"
      }
      for (const [query, error] of Object.entries(invalid)) {
        const { status, json } = yield* call(`${transactions}?${query}`)
        assert.strictEqual(status, 400, query)
        assert.include(json.error ?? "", error)
      }
    })
  )

  it.effect("by code, or of held ones, has open transactions only, and refuses final states with 400", () =>
    Effect.gen(function* () {
      yield* prepare()
      const sql = yield* SqlClient.SqlClient
      const [waits, queued, ended] = [yield* sent(), yield* sent(), yield* sent()]
      const codes = { [waits]: "insufficient_funds", [queued]: "queued", [ended]: "insufficient_funds" }
      for (const [id, code] of Object.entries(codes)) {
        yield* sql`UPDATE transactions SET code = ${code} WHERE id = ${id}::uuid`
      }
      yield* sql`UPDATE transactions SET state = 'canceled', final_at = now() WHERE id = ${ended}::uuid`
      for (const list of [all, transactions]) {
        assert.deepStrictEqual((yield* get(`${list}?code=insufficient_funds`)).ids, [waits])
        assert.deepStrictEqual((yield* get(`${list}?code=insufficient_funds&code=queued`)).ids, [queued, waits])
        assert.deepStrictEqual((yield* get(`${list}?held=true`)).ids, [waits])
        assert.deepStrictEqual((yield* get(`${list}?held=true&status=mined`)).ids, [])
        assert.strictEqual((yield* get(`${list}?held=false`)).ids.length, 3)
        for (const query of ["code=queued&status=canceled", "held=true&status=pending&status=failed"]) {
          const { status, json } = yield* TestApi.call(`${list}?${query}`)
          assert.strictEqual(status, 400, query)
          assert.include(json.error ?? "", "status: must be pending, sent, submitted, mined")
        }
      }
    })
  )

  it.effect("counts to 10,000 and has no numbered pages beyond; a cursor reaches all, without a total", () =>
    Effect.gen(function* () {
      yield* prepare()
      yield* sent()
      yield* multiply
      const page = (number: number) => get(`${transactions}?page=${number}&per_page=1000`)
      const last = yield* page(10)
      assert.deepStrictEqual(last.pagination, { current_page: 10, per_page: 1000, total_items: counted })
      assert.lengthOf(last.ids, 1000)
      const beyond = yield* page(11)
      assert.deepStrictEqual(beyond.pagination, { current_page: 11, per_page: 1000, total_items: counted })
      assert.deepStrictEqual([beyond.ids, beyond.next], [[], undefined])
      const rest = yield* get(last.next ?? assert.fail("the last page leads to no other one"))
      assert.lengthOf(rest.ids, 51)
      assert.isUndefined(rest.pagination)
      assert.isUndefined(rest.next)
    })
  )

  it.effect("of all relayers has a cursor and no total, and takes no page", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const [one, other, third] = [yield* sent(), yield* sentByOther, yield* sent()]
      const first = yield* get(`${all}?per_page=2`)
      assert.deepStrictEqual([first.ids, first.pagination], [[third, other], undefined])
      const rest = yield* get(first.next ?? assert.fail("no next page"))
      assert.deepStrictEqual([rest.ids, rest.next], [[one], undefined])
      assert.deepStrictEqual((yield* get(`${all}?relayer_id=other`)).ids, [other])
      assert.deepStrictEqual((yield* get(`${all}?relayer_id=other&relayer_id=sender`)).ids, [third, other, one])
      assert.deepStrictEqual((yield* get(`${all}?relayer_id=unknown`)).ids, [])
      const numbered = yield* call(`${all}?page=1`)
      assert.strictEqual(numbered.status, 400)
      assert.match(numbered.json.error ?? "", /^page: is not a known field \(known: per_page, cursor, /)
    })
  )

  it.effect("of all relayers shows a narrowed key those of its relayers, also if it asks for others", () =>
    Effect.gen(function* () {
      yield* prepare()
      yield* sent()
      const other = yield* sentByOther
      const key = yield* makeKey(["transactions:read"], { relayer_ids: ["other"] })
      assert.deepStrictEqual((yield* get(all, { key })).ids, [other])
      assert.deepStrictEqual((yield* get(`${all}?relayer_id=sender`, { key })).ids, [])
    })
  )

  it.effect("refuses a cursor of another list, and a cursor with a page", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      yield* sent()
      yield* sent()
      const { next = "" } = yield* get(`${transactions}?per_page=1`)
      const cursor = /cursor=([^&]+)/.exec(next)?.[1]
      const filtered = yield* call(`${transactions}?cursor=${cursor}&status=pending`)
      assert.strictEqual(filtered.status, 400)
      assert.include(filtered.json.error ?? "", "cursor: does not belong to this list")
      const numbered = yield* call(`${transactions}?cursor=${cursor}&page=2`)
      assert.deepStrictEqual([numbered.status, numbered.json.error], [400, "page: cannot be given with a cursor"])
    })
  )
})
