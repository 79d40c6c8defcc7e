// Cancels over HTTP: of all open transactions of a relayer with a long queue, and of one that is only canceled while it is pending.
import { assert } from "@effect/vitest"
import { Array, Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Server from "../../../src/server/Server.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { dataOf, makeKey, prepare, receiver, send, transactions } from "./Fixtures.ts"

interface Canceled {
  readonly queued_for_cancellation_transaction_ids: ReadonlyArray<string>
  readonly failed_to_queue_transaction_ids: ReadonlyArray<string>
  readonly total_processed: number
  readonly remaining?: number
}

/** Shorter than the default. A cancel of all stops after a third of it. */
const requestTimeoutMs = 24_000

const cancelAll = (key?: string) =>
  Effect.map(
    Effect.flatMap(TestApi.TestApi, ({ call }) =>
      call(`${transactions}/pending`, { method: "DELETE", ...(key === undefined ? {} : { key }) })
    ),
    ({ json }) => json.data as Canceled
  )

const sendMany = (count: number) =>
  Effect.forEach(
    Array.makeBy(count / 50, (index) => index),
    () =>
      Effect.flatMap(TestApi.TestApi, ({ call }) =>
        call(`${transactions}/batch`, {
          body: { transactions: Array.makeBy(50, () => ({ to: receiver, gas_price: 1, gas_limit: 21_000 })) }
        })
      )
  )

layerEach(TestApi.layer())("a cancel of all", (it) => {
  it.effect("ends transactions without a nonce a hundred per commit, and says nothing of a rest", () =>
    Effect.gen(function* () {
      yield* prepare()
      const sql = yield* SqlClient.SqlClient
      for (const { status, text } of yield* sendMany(250)) assert.strictEqual(status, 200, text)
      const canceled = yield* cancelAll()
      assert.lengthOf(canceled.queued_for_cancellation_transaction_ids, 250)
      assert.deepStrictEqual([canceled.total_processed, canceled.remaining], [250, undefined])
      const rows = yield* sql`SELECT DISTINCT state, xmin::text AS commit FROM transactions`
      assert.deepStrictEqual([rows.length, rows.every(({ state }) => state === "canceled")], [3, true])
    })
  )

  it.effect("by a key with limits cancels only what that key has sent", () =>
    Effect.gen(function* () {
      yield* prepare()
      const limited = yield* makeKey(["transactions:*"], { transaction_limits: { max_fee_per_day: "100000" } })
      const body = { to: receiver, gas_price: 1, gas_limit: 21_000 }
      const sendAs = (key?: string) =>
        Effect.map(send(body, key === undefined ? {} : { key }), (answer) => dataOf(answer).id)
      const ids = yield* Effect.forEach([undefined, limited, yield* makeKey(["transactions:*"])], sendAs)
      assert.deepStrictEqual(yield* cancelAll(limited), {
        queued_for_cancellation_transaction_ids: ids.slice(1, 2),
        failed_to_queue_transaction_ids: [...ids.slice(0, 1), ...ids.slice(2)],
        total_processed: 3
      })
    })
  )

  it.effect("that takes a third of its request's time says how many are left, and a repetition continues", () =>
    Effect.gen(function* () {
      yield* prepare()
      yield* sendMany(250)
      const sql = yield* SqlClient.SqlClient
      const held = yield* Deferred.make<void>()
      const released = yield* Deferred.make<void>()
      const hold = sql`
        SELECT 1 FROM transactions
        WHERE number = (SELECT number FROM transactions ORDER BY number OFFSET 150 LIMIT 1) FOR UPDATE`.pipe(
        Effect.andThen(Deferred.succeed(held, undefined)),
        Effect.andThen(Deferred.await(released))
      )
      yield* Effect.forkScoped(sql.withTransaction(hold))
      yield* Deferred.await(held)
      const canceling = yield* Effect.forkScoped(cancelAll())
      // The second commit waits for the row, and a third of the time passes meanwhile.
      yield* Effect.repeat(
        sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        { until: (rows) => rows.length > 0 }
      )
      yield* TestClock.adjust(requestTimeoutMs / 3)
      yield* Deferred.succeed(released, undefined)
      const first = yield* Fiber.join(canceling)
      assert.lengthOf(first.queued_for_cancellation_transaction_ids, 200)
      assert.deepStrictEqual([first.total_processed, first.remaining], [200, 50])
      const second = yield* cancelAll()
      assert.lengthOf(second.queued_for_cancellation_transaction_ids, 50)
      assert.deepStrictEqual([second.total_processed, "remaining" in second], [50, false])
      assert.strictEqual((yield* cancelAll()).total_processed, 0)
    }).pipe(Effect.provide(TestApi.layer({ server: { ...Server.defaults, requestTimeoutMs } })))
  )
})

layerEach(TestApi.layer())("a cancel with only_pending", (it) => {
  const remove = (id: string, query: string) =>
    Effect.flatMap(TestApi.TestApi, ({ call }) => call(`${transactions}/${id}?${query}`, { method: "DELETE" }))

  it.effect("is answered alike when it is repeated, and with 409 if the transaction was signed", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { id } = dataOf(yield* send({ to: receiver, gas_price: 1, gas_limit: 21_000 }))
      const first = yield* remove(id, "only_pending=true")
      assert.deepStrictEqual([first.status, dataOf(first).status], [200, "canceled"])
      const repeated = yield* remove(id, "only_pending=true")
      assert.deepStrictEqual([repeated.status, repeated.json.data], [200, first.json.data])
      const { id: sent } = dataOf(yield* send({ to: receiver, gas_price: 1, gas_limit: 21_000 }))
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE transactions SET restored = true WHERE id = ${sent}`
      const late = yield* remove(sent, "only_pending=true")
      assert.strictEqual(late.status, 409, late.text)
      assert.include(late.json.error ?? "", "only_pending")
    })
  )

  it.effect("is refused if the parameter is no boolean, and cancels nothing", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { id } = dataOf(yield* send({ to: receiver, gas_price: 1, gas_limit: 21_000 }))
      for (const query of ["only_pending=yes", "only_pending=", "only_pending=1"]) {
        const refused = yield* remove(id, query)
        assert.strictEqual(refused.status, 400, refused.text)
        assert.match(refused.json.error ?? "", /^only_pending: /)
      }
      const { call } = yield* TestApi.TestApi
      assert.deepInclude((yield* call(`${transactions}/${id}`)).json.data, { status: "pending", is_canceled: false })
    })
  )
})
