// What reads for operators cost with 1,000,000 transactions of 1,000 relayers: pages of the database, which do not depend on the machine.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Relayers } from "../../src/server/relayers/Relayers.ts"
import * as Attention from "../../src/server/attention/Attention.ts"
import * as Search from "../../src/server/search/Search.ts"
import { Transactions } from "../../src/server/transactions/Transactions.ts"
import { authenticateRows } from "../../testkit/authenticateRows.ts"
import * as LargeLedger from "../../testkit/LargeLedger.ts"
import * as TestApi from "../../testkit/TestApi.ts"

const transactions = 1_000_000

const filled = Layer.effectDiscard(LargeLedger.fill(transactions)).pipe(Layer.provideMerge(TestApi.layer()))

layer(filled, { timeout: "10 minutes" })("with a million transactions", (it) => {
  it.effect("a list by code costs the open transactions, also if the code is rare or unknown", () =>
    Effect.gen(function* () {
      const { listAll } = yield* Transactions
      for (const [code, expected] of [
        ["insufficient_funds", LargeLedger.withEachCode],
        ["in_pool", LargeLedger.withEachCode],
        ["confirmed", 0],
        ["no_such_code", 0]
      ] as const) {
        const { value, pages } = yield* LargeLedger.pagesOf(listAll({ code: [code], per_page: 100 }))
        assert.strictEqual(value.items.length, expected, code)
        assert.isAtMost(pages, 400, code)
      }
    })
  )

  it.effect("what needs attention costs at most 500 pages, with relayers and transactions that do", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { look } = yield* Attention.make
      yield* sql`
        UPDATE relayer_checks SET state = '{"status":"degraded","told_degraded":true,"told_low":false}'
        WHERE relayer_id IN ('r100', 'r200', 'r300')`
      const view = { transactions: true, notifications: true, keys: true, relayerIds: undefined }
      const { value, pages } = yield* LargeLedger.pagesOf(look(view))
      assert.deepStrictEqual(
        value.map(({ code, transactions, relayers }) => [code, transactions.count, relayers.count]),
        [
          ["insufficient_funds", LargeLedger.withEachCode, LargeLedger.withEachCode],
          ["provider_failed", 0, 3]
        ]
      )
      assert.isAtMost(pages, 500)
    })
  )

  it.effect("a page of 100 relayers with their health costs at most 20 pages for each, also by need", () =>
    Effect.gen(function* () {
      yield* authenticateRows()
      const { list } = yield* Relayers
      for (const sort of ["created_at", "attention"] as const) {
        const { value, pages } = yield* LargeLedger.pagesOf(list({ per_page: 100, sort, include: "health" }))
        assert.strictEqual(value.items.length, 100)
        assert.isAtMost(pages, sort === "attention" ? 3000 : 2000, sort)
      }
    })
  )

  it.effect("a search costs at most 60 pages, and at most 100 by relayer and nonce", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { find } = yield* Search.make
      const [row] = yield* sql<{
        readonly id: string
      }>`SELECT id::text AS id FROM transactions WHERE external_id = 'order-777777'`
      const id = row?.id ?? assert.fail("no transaction")
      for (const [q, count] of [
        ["order-777777", 1],
        ["order-of-nobody", 0],
        [id, 1],
        ["5c".repeat(32), 0],
        [`0x${"5".padStart(40, "0")}`, 1],
        ["r778#777777", 1],
        ["r778#777778", 0],
        ["Relayer 77", 11]
      ] as const) {
        const { value, pages } = yield* LargeLedger.pagesOf(find({ q }))
        assert.strictEqual(value.length, count, q)
        assert.isAtMost(pages, q.includes("#") ? 100 : 60, q)
      }
    })
  )

  it.effect("a list of held transactions costs the open ones, and has no usual ones", () =>
    Effect.gen(function* () {
      const { listAll } = yield* Transactions
      const { value, pages } = yield* LargeLedger.pagesOf(listAll({ held: true, per_page: 100 }))
      assert.deepStrictEqual(new Set(value.items.map(({ code }) => code)), new Set(["insufficient_funds"]))
      assert.strictEqual(value.items.length, LargeLedger.withEachCode)
      assert.isAtMost(pages, 400)
    })
  )
})
