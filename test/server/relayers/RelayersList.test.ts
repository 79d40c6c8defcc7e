// The list of relayers: its filters, its orders, and its cursors.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import { authenticateRows } from "../../../testkit/authenticateRows.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const count = 45

/** Relayers on three networks, a third of them paused, some disabled, with names that repeat in an order of their own. */
const fill = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const api = yield* TestApi.TestApi
  yield* api.call("/api/v1/notifications", { body: { id: "hook", url: "https://hooks.example.com/x" } })
  for (let n = 1; n <= count; n++) yield* api.call("/api/v1/signers", { body: { id: `s${n}`, type: "plain" } })
  yield* sql`
    INSERT INTO relayers (id, name, network_type, network, address, paused, system_disabled, signer_id, notification_id)
    SELECT 'r' || n, 'Name ' || (n * 7 % 10), CASE WHEN n % 5 = 0 THEN 'solana' ELSE 'evm' END,
      CASE WHEN n % 5 = 0 THEN 'devnet' WHEN n % 2 = 0 THEN 'base' ELSE 'sepolia' END, 'x', n % 3 = 0, n % 11 = 0, 's' || n,
      CASE WHEN n % 4 = 0 THEN 'hook' END
    FROM generate_series(1, ${count}::int) n ORDER BY n`
  yield* authenticateRows()
})

interface Item {
  readonly id: string
  readonly name: string
}

const list = Effect.fnUntraced(function* (query: string) {
  const api = yield* TestApi.TestApi
  const answer = yield* api.call(`/api/v1/relayers${query}`)
  assert.strictEqual(answer.status, 200, answer.text)
  const next = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get("link") ?? "")?.[1]
  const pagination = answer.json.pagination as { current_page: number; per_page: number; total_items: number }
  return { items: answer.json.data as ReadonlyArray<Item>, next, pagination }
})

/** All pages, by following the links. */
const walk = Effect.fnUntraced(function* (query: string) {
  const items: Array<Item> = []
  const pages: Array<number> = []
  let at: string | undefined = query
  while (at !== undefined) {
    const page: Effect.Success<ReturnType<typeof list>> = yield* list(at)
    items.push(...page.items)
    pages.push(page.pagination.current_page)
    at = page.next?.replace("/api/v1/relayers", "")
  }
  return { items, pages }
})

const numbers = (items: ReadonlyArray<Item>) => items.map(({ id }) => Number(id.slice(1)))
const all = Array.from({ length: count }, (_, index) => index + 1)

const filled = Prepared.layer(fill)

layer(filled)("the list of relayers", (it) => {
  it.effect("each filter selects what it names, alone and with others, and the total counts the selection", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [string, (n: number) => boolean]> = [
        ["network_type=solana", (n) => n % 5 === 0],
        ["network=base", (n) => n % 2 === 0 && n % 5 !== 0],
        ["signer_id=s7", (n) => n === 7],
        ["notification_id=hook", (n) => n % 4 === 0],
        ["paused=true", (n) => n % 3 === 0],
        ["paused=false", (n) => n % 3 !== 0],
        ["system_disabled=true", (n) => n % 11 === 0],
        ["q=NAME%203", (n) => (n * 7) % 10 === 3],
        ["q=R4", (n) => String(n).startsWith("4")],
        ["q=%25", () => false],
        [
          "network_type=evm&paused=true&system_disabled=false&network=sepolia",
          (n) => n % 5 !== 0 && n % 3 === 0 && n % 11 !== 0 && n % 2 === 1
        ]
      ]
      for (const [query, selects] of cases) {
        const { items, pagination } = yield* list(`?per_page=100&${query}`)
        assert.deepStrictEqual(numbers(items), all.filter(selects), query)
        assert.strictEqual(pagination.total_items, items.length, query)
      }
    })
  )

  it.effect("the links lead through all relayers once, in each order and with each filter", () =>
    Effect.gen(function* () {
      const byName = all.toSorted((a, b) => ((a * 7) % 10) - ((b * 7) % 10) || a - b)
      const orders: ReadonlyArray<readonly [string, ReadonlyArray<number>]> = [
        ["", all],
        ["&sort=created_at", all],
        ["&sort=-created_at", all.toReversed()],
        ["&sort=name", byName],
        ["&sort=-name", byName.toReversed()]
      ]
      for (const [sort, expected] of orders) {
        for (const per_page of [1, 7, 10, 45, 46]) {
          const { items, pages } = yield* walk(`?per_page=${per_page}${sort}`)
          assert.deepStrictEqual(numbers(items), expected, sort)
          assert.deepStrictEqual(
            pages,
            Array.from({ length: Math.ceil(count / per_page) }, (_, index) => index + 1)
          )
        }
        const { items } = yield* walk(`?per_page=4&paused=true${sort}`)
        assert.deepStrictEqual(
          numbers(items),
          expected.filter((n) => n % 3 === 0),
          sort
        )
      }
    })
  )

  it.effect("a link keeps the query, and the last page has none", () =>
    Effect.gen(function* () {
      const { next } = yield* list("?page=2&per_page=5&sort=name&network_type=evm")
      const url = new URL(next ?? "", "http://localhost")
      assert.deepStrictEqual([...url.searchParams.keys()].sort(), ["cursor", "network_type", "per_page", "sort"])
      assert.isUndefined((yield* list("?page=5&per_page=10")).next)
      assert.isUndefined((yield* list("?page=9&per_page=5")).next)
      assert.isUndefined((yield* list("?per_page=0")).next)
    })
  )

  it.effect("a cursor that the service did not issue for this list is refused", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const { next } = yield* list("?per_page=5&sort=name")
      const cursor = new URL(next ?? "", "http://localhost").searchParams.get("cursor") ?? ""
      const flipped = (index: number) =>
        `${cursor.slice(0, index)}${cursor[index] === "A" ? "B" : "A"}${cursor.slice(index + 1)}`
      const refused = [
        `sort=name&per_page=5&cursor=${cursor.slice(0, -4)}`,
        `sort=name&per_page=5&cursor=${cursor.slice(0, 12)}`,
        ...[0, 10, 25, cursor.length - 5].map((index) => `sort=name&cursor=${flipped(index)}`),
        `sort=-name&cursor=${cursor}`,
        `cursor=${cursor}`,
        `sort=name&paused=true&cursor=${cursor}`,
        "sort=name&cursor=",
        "sort=name&cursor=%00%ff",
        `sort=name&cursor=${"A".repeat(5000)}`
      ]
      for (const query of refused) {
        const answer = yield* api.call(`/api/v1/relayers?${query}`)
        assert.strictEqual(answer.status, 400, query)
        assert.strictEqual(answer.json.error, "cursor: does not belong to this list; restart without a cursor")
      }
      const both = yield* api.call(`/api/v1/relayers?sort=name&page=1&cursor=${cursor}`)
      assert.strictEqual(both.json.error, "page: cannot be given with a cursor")
      assert.strictEqual((yield* api.call(`/api/v1/relayers?sort=name&cursor=${cursor}`)).status, 200)
    })
  )

  it.effect("an unknown filter or an invalid value is refused, and the error names it", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const cases: ReadonlyArray<readonly [string, string]> = [
        [
          "colour=red&paused=true",
          "colour: is not a known field (known: page, per_page, cursor, network_type, network, signer_id, notification_id, paused, system_disabled, state, q, sort, include)"
        ],
        ["paused=yes", "paused: Expected true or false"],
        ["sort=age", "sort: Expected created_at, -created_at, name, -name or attention"],
        ["network_type=bitcoin", "network_type: Expected evm, solana or stellar"],
        ["signer_id=a%20b", "signer_id: Expected 1 to 36 letters, digits, dashes and underscores"],
        ["q=", "q: Expected 1 to 256 characters"]
      ]
      for (const [query, error] of cases) {
        const answer = yield* api.call(`/api/v1/relayers?${query}`)
        assert.deepStrictEqual([answer.status, answer.json.error], [400, error])
      }
    })
  )
})

layerEach(filled)("the list of relayers, while it changes", (it) => {
  it.effect("the links show each relayer that stays exactly once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const first = yield* list("?per_page=10")
      yield* sql`DELETE FROM relayers WHERE id IN ('r2', 'r3')`
      const second = yield* list((first.next ?? "").replace("/api/v1/relayers", ""))
      assert.deepStrictEqual(numbers(second.items), all.slice(10, 20))
      assert.strictEqual(second.pagination.total_items, count)
      yield* sql`
        INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id)
        SELECT 'r' || n, 'Name', 'evm', 'sepolia', 'x', false, 's' || n FROM generate_series(2, 3) n`
      yield* authenticateRows()
      assert.strictEqual((yield* list("?per_page=0")).pagination.total_items, count)
    })
  )
})
