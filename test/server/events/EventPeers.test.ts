// Events across instances, under load, over real connections that break. Readers of events wait by the clock of the machine.
import { assert } from "@effect/vitest"
import { Context, Effect, Fiber, Random, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Events } from "../../../src/server/events/Events.ts"
import { signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as EventReader from "./EventReader.ts"
import { soon } from "./LiveApi.ts"
import * as Peers from "./Peers.ts"

const writers = 8
const eventsOfWriter = 125

/** Runs slow transactions of one to three events. Some are rolled back, and each rolls back a part. */
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

/** Reads `total` events. It disconnects now and then, and resumes at the other instance. */
const readOn = Effect.fnUntraced(function* (baseUrls: ReadonlyArray<string>, total: number) {
  const got: Array<EventReader.Frame> = []
  let connections = 0
  while (got.length < total) {
    const count = Math.min(yield* Random.nextIntBetween(1, 60), total - got.length)
    const baseUrl = baseUrls[connections % baseUrls.length] ?? ""
    const last = got.at(-1)?.id
    const frames = yield* Effect.scoped(
      Effect.flatMap(EventReader.open(baseUrl, last === undefined ? {} : { lastEventId: last }), (reader) =>
        reader.take(count)
      )
    )
    // The reader may have received more. It ignores these events and gets them again.
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

  it.effect("send each other's events at once", () =>
    Effect.gen(function* () {
      const [one, other] = yield* Peers.Peers
      const { baseUrl } = Context.get(other, TestApi.TestApi)
      const { call } = Context.get(one, TestApi.TestApi)
      const reader = yield* EventReader.open(baseUrl, { query: "?type=signer.created" })
      for (const [index, id] of ["a", "b", "c"].entries()) {
        yield* call("/api/v1/signers", { body: { ...signer, id } })
        const frames = yield* soon(reader.take(index + 1))
        assert.include(frames[index]?.data, `"resource_id":"${id}"`)
      }
    })
  )
})
