// What reads for operators cost with 100,000 transactions of 1,000 relayers, in the long form with 1,000,000: pages of the database,
// which do not depend on the machine.
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { NotificationId } from "../../src/domain/notification/Notification.ts"
import { Ledger } from "../../src/server/ledger/Ledger.ts"
import * as Prepared from "../../testkit/Prepared.ts"
import { makeNetworkProviders } from "../../src/server/health/RelayerHealth.ts"
import { makeDeliveriesRepo } from "../../src/server/notifications/delivery/Deliveries.ts"
import * as QueueRepo from "../../src/server/notifications/delivery/QueueRepo.ts"
import { Relayers } from "../../src/server/relayers/Relayers.ts"
import { NetworkId } from "../../src/domain/network/Network.ts"
import { maxCountedDeliveries } from "../../src/domain/notification/Delivery.ts"
import * as Attention from "../../src/server/attention/Attention.ts"
import * as Search from "../../src/server/search/Search.ts"
import { makeSums } from "../../src/server/ledger/StatisticsRepo.ts"
import { Transactions } from "../../src/server/transactions/Transactions.ts"
import { authenticateRows } from "../../testkit/authenticateRows.ts"
import * as LargeLedger from "../../testkit/LargeLedger.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import { cases } from "../../testkit/Depth.ts"

const transactions = cases(1_000_000)

/** Milliseconds. */
const hour = 3_600_000

/** Rows have moments of the database, and the clock of tests stands still. Milliseconds. */
const databaseTime = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly now: number }>`SELECT (extract(epoch FROM now()) * 1000)::float8 AS now`
  return row?.now ?? assert.fail("no time")
})

const filled = Layer.effectDiscard(LargeLedger.fill(transactions)).pipe(Layer.provideMerge(TestApi.layer()))

layer(filled, { timeout: "10 minutes" })("with many transactions", (it) => {
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
      const view = {
        transactions: true,
        notifications: true,
        keys: true,
        signers: true,
        networks: true,
        relayerIds: undefined
      }
      const { value, pages } = yield* LargeLedger.pagesOf(look(view))
      // The rows have no MACs, and the service may have found some of them by now.
      const others = value.filter(({ code }) => code !== "row_unreadable")
      assert.deepStrictEqual(
        others.map(({ code, transactions, relayers }) => [code, transactions.count, relayers.count]),
        [
          // Each has one that is held, and one that is queued behind it.
          ["insufficient_funds", 2 * LargeLedger.withEachCode, LargeLedger.withEachCode],
          ["provider_failed", 0, 3]
        ]
      )
      assert.isAtMost(pages, 500)
    })
  )

  it.effect("a page of 100 relayers with their health costs at most fourteen pages for each", () =>
    Effect.gen(function* () {
      yield* authenticateRows()
      // Without the versions of rows that the authentication has replaced.
      yield* LargeLedger.vacuum("relayers", "relayer_checks")
      const { list } = yield* Relayers
      for (const sort of ["created_at", "attention"] as const) {
        const { value, pages } = yield* LargeLedger.pagesOf(list({ per_page: 100, sort, include: "health" }))
        assert.strictEqual(value.items.length, 100)
        // PostgreSQL reads the checks of all 1,000 relayers, which has cost 1,020 pages, or those of each by its key, 1,381.
        assert.isAtMost(pages, 1400, sort)
      }
    })
  )

  it.effect(
    "statistics of the last hour cost at most 400 pages, those of six hours 2500, and those of seven days 1500 or, of a relayer, 2500",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { finalSteps, openSummary, summedSteps } = yield* Ledger
        const sum = (rows: ReadonlyArray<{ readonly confirmed: number }>) =>
          rows.reduce((all, { confirmed }) => all + confirmed, 0)
        const now = yield* databaseTime
        const lastHours = (hours: number) => ({ since: now - hours * hour, step: hour / 4, steps: 4 * hours })
        const last = yield* LargeLedger.pagesOf(finalSteps(lastHours(1), undefined))
        assert.isAbove(sum(last.value), 4000)
        assert.isAtMost(last.pages, 400)
        const six = yield* LargeLedger.pagesOf(finalSteps(lastHours(6), undefined))
        assert.isAbove(sum(six.value), 5 * sum(last.value))
        assert.isAtMost(six.pages, 2500)
        const { sumAll } = yield* makeSums
        yield* sumAll
        const week = { since: now - 7 * 24 * hour, step: hour, steps: 7 * 24 }
        const all = yield* LargeLedger.pagesOf(summedSteps(week, undefined))
        assert.isAbove(sum(all.value), 0.9 * transactions)
        assert.isAtMost(all.pages, 1500)
        const [{ seq = 0 } = {}] = yield* sql<{
          readonly seq: number
        }>`SELECT seq::float8 AS seq FROM relayers WHERE id = 'r500'`
        const one = yield* LargeLedger.pagesOf(summedSteps(week, [seq]))
        assert.isAbove(sum(one.value), (0.9 * transactions) / LargeLedger.relayers)
        assert.isAtMost(one.pages, 2500)
        const open = yield* LargeLedger.pagesOf(openSummary(undefined))
        assert.deepInclude(open.value, { pending: 2 * LargeLedger.withEachCode, held: LargeLedger.withEachCode })
        assert.isAtMost(open.pages, 400)
      })
  )

  it.effect("statistics of a receiver cost a page for each few deliveries, and at most those that are counted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { steps } = yield* makeDeliveriesRepo
      yield* Prepared.create("notifications", { id: "busy", url: "https://hooks.example.com/x" })
      // A thousand in each of the last twenty hours, with bodies of the usual size.
      yield* sql`
        INSERT INTO deliveries (id, notification_seq, lane, event, body, state, created_at, delivered_at)
        SELECT 'd' || i, n.seq, 'r1', 'relayer.paused', repeat('x', 1500), 'delivered', at, at + interval '1 second'
        FROM generate_series(1, 20000) i, LATERAL (SELECT now() - (20000 - i) * interval '3.6 seconds' AS at) given,
          notifications n WHERE n.id = 'busy'`
      yield* LargeLedger.vacuum("deliveries")
      const of = { notification: NotificationId.make("busy"), relayers: undefined }
      const lastHour = { since: (yield* databaseTime) - hour, step: hour, steps: 1 }
      const { value, pages } = yield* LargeLedger.pagesOf(steps(of, lastHour, maxCountedDeliveries))
      const delivered = (rows: typeof value) => rows.reduce((all, one) => all + one.delivered, 0)
      assert.isAbove(delivered(value), 800)
      assert.isAtMost(pages, 500)
      const all = yield* steps(of, { ...lastHour, since: 0 }, maxCountedDeliveries)
      assert.strictEqual(delivered(all), maxCountedDeliveries)
    })
  )

  it.effect("the providers of a network cost at most 1200 pages, whatever the number of its relayers is", () =>
    Effect.gen(function* () {
      const { list } = yield* makeNetworkProviders
      const { value, pages } = yield* LargeLedger.pagesOf(list(NetworkId.make("evm:sepolia")))
      assert.isNotEmpty(value)
      assert.isAtMost(pages, 1200)
    })
  )

  // For each statement, the planner reads the first page of each index of its tables: about 100 of the pages, which no number of rows changes.
  it.effect("a search costs at most 140 pages", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { find } = yield* Search.make
      const [row] = yield* sql<{
        readonly id: string
      }>`SELECT id::text AS id FROM transactions WHERE external_id = 'order-77777'`
      const id = row?.id ?? assert.fail("no transaction")
      for (const [q, count] of [
        ["order-77777", 1],
        ["order-of-nobody", 0],
        [id, 1],
        ["5c".repeat(32), 0],
        [`0x${"5".padStart(40, "0")}`, 1],
        ["r778#77777", 1],
        ["r778#77778", 0],
        ["Relayer 77", 11]
      ] as const) {
        const { value, pages } = yield* LargeLedger.pagesOf(find({ q }))
        assert.strictEqual(value.length, count, q)
        assert.isAtMost(pages, 140, q)
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

  it.effect("lists and claims find each row of their page by its key, also if the planner expects empty tables", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { listAll } = yield* Transactions
      const { claim } = yield* QueueRepo.make
      const cost = <A, E, R>(self: Effect.Effect<A, E, R>) =>
        LargeLedger.withStatisticsOfEmptyTables(LargeLedger.pagesOf(self))
      const held = yield* cost(listAll({ held: true, per_page: 100 }))
      assert.strictEqual(held.value.items.length, LargeLedger.withEachCode)
      assert.isAtMost(held.pages, transactions / 20)
      const all = yield* cost(listAll({ per_page: 100 }))
      assert.strictEqual(all.value.items.length, 100)
      assert.isAtMost(all.pages, 5000)
      yield* Prepared.create("notifications", { id: "waiting", url: "https://hooks.example.com/x" })
      yield* sql`
        INSERT INTO deliveries (id, notification_seq, lane, event, body, state, created_at, next_attempt_at, give_up_at)
        SELECT 'w' || i, n.seq, 'r' || i % 100, 'relayer.paused', '{}', 'pending', now(), now(), now() + interval '1 day'
        FROM generate_series(1, 20000) i, notifications n WHERE n.id = 'waiting'`
      const claimed = yield* cost(claim({ free: 10, perReceiver: 10, busy: new Map() }))
      assert.strictEqual(claimed.value.length, 10)
      assert.isAtMost(claimed.pages, 20_000)
      const { replay } = yield* makeDeliveriesRepo
      yield* sql`UPDATE deliveries SET state = 'failed' WHERE state = 'pending'`
      const always = { since: DateTime.makeUnsafe(0), until: DateTime.makeUnsafe("2100-01-01T00:00:00Z") }
      const of = { notification: NotificationId.make("waiting"), relayers: undefined }
      const replayed = yield* cost(replay(of, { ...always, state: "failed" }, 1000))
      assert.strictEqual(replayed.value, 1000)
      assert.isAtMost(replayed.pages, 40_000)
    })
  )
})
