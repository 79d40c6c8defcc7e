// Limits of what one caller can use of an instance: requests, database connections and event streams.
// Readers of events wait by the clock of the machine.
import { assert } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { maxPerCaller } from "../../../src/server/events/EventStreams.ts"
import { maxConnections, maxConnectionsOfCallers, maxRequests } from "../../../src/server/limits/RateLimits.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as EventReader from "../events/EventReader.ts"
import * as LiveApi from "../events/LiveApi.ts"

const newKey = Effect.gen(function* () {
  const created = yield* TestApi.call("/api/v1/api-keys", {
    body: { name: "x", scopes: ["relayers:read", "events:read"] }
  })
  return (created.json.data as { readonly key: string }).key
})

const start = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.forkChild(self, { startImmediately: true })

const statusesOf = Effect.fnUntraced(function* (paths: ReadonlyArray<string>, options: TestApi.Call) {
  const answers = yield* Effect.forEach(paths, (path) => TestApi.call(path, options), { concurrency: "unbounded" })
  return answers.map(({ status }) => status)
})

layerEach(LiveApi.layer())("one caller", (it) => {
  it.live("has at most 64 requests in progress, while other callers and the administrator are served", () =>
    Effect.gen(function* () {
      const [key, other] = [yield* newKey, yield* newKey]
      const polls = Array.from({ length: maxRequests }, () => "/api/v1/events?wait=25&resource_id=awaited")
      const polling = yield* start(statusesOf(polls, { key }))
      const refused = yield* Effect.repeat(TestApi.call("/api/v1/relayers", { key }), {
        until: ({ status }) => status !== 200
      })
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(refused.headers.get("retry-after"), "1")
      assert.strictEqual((yield* TestApi.call("/api/v1/relayers", { key: other })).status, 200)
      assert.strictEqual((yield* TestApi.call("/api/v1/relayers")).status, 200)
      assert.include((yield* TestApi.call("/metrics/caller_limit_refusals_total")).text, 'limit="requests"')
      yield* LiveApi.emit("awaited")
      const statuses = yield* Fiber.join(polling)
      assert.deepStrictEqual([...new Set(statuses)].sort(), statuses.includes(429) ? [200, 429] : [200])
      assert.strictEqual((yield* TestApi.call("/api/v1/relayers", { key })).status, 200)
    })
  )

  it.live("uses 4 connections, and all callers 6, so that readiness and the administrator do not wait", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const keys = [yield* newKey, yield* newKey, yield* newKey]
      /** A transaction sees one snapshot of the statistics until it clears it. */
      const waiting = Effect.gen(function* () {
        yield* sql`SELECT pg_stat_clear_snapshot()`
        const rows = yield* sql`
          SELECT 1 FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%strpos%'`
        return rows.length
      })
      const searches = Array.from({ length: 12 }, (_, n) => `/api/v1/relayers?q=${n}`)
      const locked = Effect.gen(function* () {
        yield* sql`LOCK TABLE relayers IN ACCESS EXCLUSIVE MODE`
        const counts = []
        const searching = []
        for (const [index, key] of keys.entries()) {
          searching.push(yield* start(statusesOf(searches, { key })))
          const expected = index === 0 ? maxConnections : maxConnectionsOfCallers
          counts.push(yield* awaited(waiting, (count) => count >= expected))
          assert.strictEqual((yield* TestApi.call("/api/v1/ready")).status, 200)
          assert.strictEqual(
            (yield* TestApi.call("/api/v1/signers", { body: { ...signer, id: `s${index}` } })).status,
            201
          )
        }
        return { counts, searching }
      })
      const { counts, searching } = yield* sql.withTransaction(locked)
      assert.deepStrictEqual(counts, [maxConnections, maxConnectionsOfCallers, maxConnectionsOfCallers])
      for (const fiber of searching) assert.deepStrictEqual([...new Set(yield* Fiber.join(fiber))], [200])
    })
  )

  it.live("has at most 20 event streams, while other callers and the administrator open further ones", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* TestApi.TestApi
      const [key, other] = [yield* newKey, yield* newKey]
      const readers = yield* Effect.forEach(
        Array.from({ length: maxPerCaller }),
        () => EventReader.open(baseUrl, { key }),
        {
          concurrency: "unbounded"
        }
      )
      assert.deepStrictEqual([...new Set(readers.map(({ response }) => response.status))], [200])
      const refused = yield* EventReader.open(baseUrl, { key })
      assert.strictEqual(refused.response.status, 429)
      assert.strictEqual(refused.response.headers.get("retry-after"), "1")
      assert.strictEqual((yield* EventReader.open(baseUrl, { key: other })).response.status, 200)
      assert.strictEqual((yield* EventReader.open(baseUrl)).response.status, 200)
      readers[0]?.close()
      const again = Effect.map(EventReader.open(baseUrl, { key }), ({ response }) => response.status)
      assert.strictEqual(yield* Effect.repeat(again, { until: (status) => status === 200 }), 200)
    })
  )
})
