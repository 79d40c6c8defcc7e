// Events across instances, under load, over real connections that break.
import { assert } from "@effect/vitest"
import { Context, Effect, Fiber, Random, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Events } from "../../../src/server/events/Events.ts"
import { signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as EventReader from "./EventReader.ts"
import * as Peers from "./Peers.ts"

const writers = 8
const eventsOfWriter = 125

/** Transactions of one to three events that take their time; some change their mind, in whole or in part. */
const write = Effect.fnUntraced(function* (writer: number) {
  const sql = yield* SqlClient.SqlClient
  const events = yield* Events
  const emit = (data: string) =>
    events.emit({ type: "relayer.updated", id: `writer-${writer}`, schema: Schema.String, data })
  let written = 0
  while (written < eventsOfWriter) {
    const count = Math.min(yield* Random.nextIntBetween(1, 4), eventsOfWriter - written)
    const whole = yield* Random.nextIntBetween(0, 10)
    const transaction = Effect.gen(function* () {
      for (let index = 0; index < count; index++) {
        yield* emit(`${writer}:${written + index}`)
        yield* sql`SELECT pg_sleep(${(yield* Random.nextIntBetween(0, 8)) / 1000})`
        yield* Effect.ignore(sql.withTransaction(Effect.andThen(emit("never"), Effect.fail("not in part"))))
      }
      if (whole === 0) return yield* Effect.fail("not in whole")
    })
    const done = yield* Effect.isSuccess(sql.withTransaction(transaction))
    if (done) written += count
  }
})

/** Reads until there are `total` events, leaving now and then; comes back after what it has. */
const readOn = Effect.fnUntraced(function* (baseUrls: ReadonlyArray<string>, total: number) {
  const got: Array<EventReader.Frame> = []
  let connections = 0
  while (got.length < total) {
    const count = Math.min(yield* Random.nextIntBetween(1, 60), total - got.length)
    const baseUrl = baseUrls[connections % baseUrls.length] ?? ""
    const last = got.at(-1)?.id
    const frames = yield* Effect.scoped(
      Effect.flatMap(EventReader.open(baseUrl, last === undefined ? {} : { lastEventId: last }), (reader) =>
        Effect.timeout(reader.take(count), "30 seconds")
      )
    )
    // What came beyond it is lost to a reader who has left.
    got.push(...frames.slice(0, count))
    connections++
  }
  return { got, connections }
})

const order = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly id: number; readonly data: string }>`
    SELECT id::int AS id, data::text AS data FROM events ORDER BY xid, id`
)

const check = (got: ReadonlyArray<EventReader.Frame>) =>
  Effect.map(order, (rows) => {
    assert.deepStrictEqual(
      got.map(({ id }) => id),
      rows.map(({ id }) => id)
    )
    for (let writer = 0; writer < writers; writer++) {
      const own = rows.map(({ data }) => JSON.parse(data) as string).filter((data) => data.startsWith(`${writer}:`))
      assert.deepStrictEqual(
        own,
        Array.from({ length: eventsOfWriter }, (_, index) => `${writer}:${index}`)
      )
    }
  })

const baseUrls = Effect.map(Peers.Peers, (peers) => peers.map((peer) => Context.get(peer, TestApi.TestApi).baseUrl))

layerEach(Peers.layer)("two instances", (it) => {
  it.live("send 1,000 events of 8 writers once and in order to readers that switch between them", () =>
    Effect.gen(function* () {
      const urls = yield* baseUrls
      const readers = yield* Effect.forEach([1, 2, 3], (seed) =>
        Effect.forkChild(Random.withSeed(readOn(urls, writers * eventsOfWriter), seed))
      )
      yield* Effect.forEach(
        Array.from({ length: writers }, (_, writer) => writer),
        (writer) => Random.withSeed(write(writer), `writer-${writer}`),
        { concurrency: "unbounded", discard: true }
      )
      for (const reader of readers) {
        const { got, connections } = yield* Fiber.join(reader)
        assert.isAbove(connections, 15)
        yield* check(got)
      }
    })
  )

  it.live("send each other's events at once", () =>
    Effect.gen(function* () {
      const [one, other] = yield* Peers.Peers
      const { baseUrl } = Context.get(other, TestApi.TestApi)
      const { call } = Context.get(one, TestApi.TestApi)
      const reader = yield* EventReader.open(baseUrl, { query: "?type=signer.created" })
      for (const [index, id] of ["a", "b", "c"].entries()) {
        yield* call("/api/v1/signers", { body: { ...signer, id } })
        // Without having been told, it looks after 5 seconds.
        const frames = yield* Effect.timeout(reader.take(index + 1), "4500 millis")
        assert.include(frames[index]?.data, `"resource_id":"${id}"`)
      }
    })
  )
})
