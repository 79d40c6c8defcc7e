// A cancel of all open transactions of a relayer with a long queue.
import { assert } from "@effect/vitest"
import { Array, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { makeKey, prepare, receiver, send, transactions } from "./Fixtures.ts"

interface Canceled {
  readonly queued_for_cancellation_transaction_ids: ReadonlyArray<string>
  readonly failed_to_queue_transaction_ids: ReadonlyArray<string>
  readonly total_processed: number
  readonly remaining?: number
}

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
      yield* send({ to: receiver, gas_price: 1, gas_limit: 21_000 })
      yield* send({ to: receiver, gas_price: 1, gas_limit: 21_000 }, { key: limited })
      const canceled = yield* cancelAll(limited)
      assert.lengthOf(canceled.queued_for_cancellation_transaction_ids, 1)
      assert.lengthOf(canceled.failed_to_queue_transaction_ids, 1)
      assert.strictEqual(canceled.total_processed, 2)
    })
  )
})
