// A notification with many deliveries is deleted at once, and its deliveries afterwards.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeQueueUpkeepRepo } from "../../../src/server/notifications/delivery/QueueRepo.ts"
import { notification } from "../../../testkit/fixtures.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

/** As many as 4.6 deliveries per minute make in 30 days. */
const many = 200_000

const path = `/api/v1/notifications/${notification.id}`

const post = Effect.flatMap(TestApi.TestApi, (api) => api.call("/api/v1/notifications", { body: notification }))

const get = (path: string) => Effect.flatMap(TestApi.TestApi, (api) => api.call(path))

const countRows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly count: bigint }>`SELECT count(*) AS count FROM deliveries`
  return Number(row?.count)
})

// Without the delivery job, so that the test does not depend on it.
layer(TestApi.layer())("a notification with 200,000 deliveries", (it) => {
  it.effect("is deleted at once, can be created again without them, and they are deleted in batches", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const api = yield* TestApi.TestApi
      const upkeep = yield* makeQueueUpkeepRepo
      assert.strictEqual((yield* post).status, 201)
      yield* sql`
        INSERT INTO deliveries (id, notification_seq, lane, event, body, state)
        SELECT 'd' || n, seq, 'r' || n % 100, 'relayer.updated', '{}', CASE n % 1000 WHEN 0 THEN 'pending' ELSE 'delivered' END
        FROM notifications, generate_series(1, ${many}::int) n`

      const deleted = yield* api.call(path, { method: "DELETE" })
      assert.strictEqual(deleted.status, 200, deleted.text)
      assert.strictEqual(yield* countRows, many)
      for (const gone of [path, `${path}/deliveries`]) assert.strictEqual((yield* get(gone)).status, 404)
      assert.strictEqual(yield* upkeep.countPending, 0)

      assert.strictEqual((yield* post).status, 201)
      assert.deepStrictEqual((yield* get(`${path}/deliveries`)).json.data, [])
      const retried = yield* api.call(`${path}/deliveries/d1/retry`, { method: "POST" })
      assert.strictEqual(retried.status, 404)
      const test = yield* api.call(`${path}/test`, { method: "POST" })
      assert.strictEqual(test.status, 200, test.text)

      assert.isTrue(yield* upkeep.clear)
      assert.strictEqual(yield* countRows, many + 1 - 1000)
      yield* Effect.repeat(upkeep.clear, { while: (isMore) => isMore })
      assert.strictEqual(yield* countRows, 1)
      assert.strictEqual(((yield* get(`${path}/deliveries`)).json.data as ReadonlyArray<unknown>).length, 1)
    })
  )
})
