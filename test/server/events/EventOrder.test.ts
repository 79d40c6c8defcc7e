// The order of events: no event appears before a visible event, whichever transaction commits first.
// Readers of events wait by the clock of the machine.
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option } from "effect"
import { SqlClient } from "effect/sql"
import { make } from "../../../src/server/events/Events.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as EventReader from "./EventReader.ts"
import * as LiveApi from "./LiveApi.ts"
import { emit, soon } from "./LiveApi.ts"

const idsAfter = (id: number) =>
  Effect.map(TestApi.call(`/api/v1/events?after=${id}`), ({ json }) =>
    (json.data as ReadonlyArray<{ readonly resource_id: string }>).map(({ resource_id }) => resource_id)
  )

/** Publishes an event, and gives its id. A test reads the events after it. */
const start = Effect.tap(emit("start"), LiveApi.shown)

/** How often the tail has checked whether events wait for an older transaction. */
const checks = Effect.map(TestApi.call("/metrics/database_query_seconds"), ({ text }) =>
  Number(/_count\{query="Events.tail"\} (\d+)/.exec(text)?.[1] ?? 0)
)

/** Begins a transaction that has published an event and does not end yet. */
const begin = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  const written = yield* Deferred.make<number>()
  const end = yield* Deferred.make<void, "rolled back">()
  const fiber = yield* Effect.forkChild(
    Effect.ignore(
      sql.withTransaction(
        Effect.gen(function* () {
          yield* Deferred.succeed(written, yield* emit(id))
          yield* Deferred.await(end)
        })
      )
    )
  )
  const event = yield* Deferred.await(written)
  return {
    event,
    commit: Effect.andThen(Deferred.succeed(end, undefined), Fiber.join(fiber)),
    rollBack: Effect.andThen(Deferred.fail(end, "rolled back"), Fiber.join(fiber))
  }
})

layerEach(LiveApi.layer())("the order of events", (it) => {
  it.live("an event waits for older transactions, and no reader can start after it until it is visible", () =>
    Effect.gen(function* () {
      const from = yield* start
      const older = yield* begin("older")
      const later = yield* emit("later")
      assert.deepStrictEqual(yield* idsAfter(from), [])
      for (const id of [older.event, later]) {
        const answer = yield* TestApi.call(`/api/v1/events?after=${id}`)
        assert.strictEqual(answer.json.error, "after: is not the id of an event")
      }
      yield* older.commit
      yield* LiveApi.shown(later)
      assert.deepStrictEqual(yield* idsAfter(from), ["older", "later"])
    })
  )

  it.live("an event comes after those of transactions that ended before it was published, also of later ones", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const from = yield* start
      const begun = yield* Deferred.make<void>()
      const written = yield* Deferred.make<void>()
      // The transaction gets its id now, and publishes after another one that began later has ended.
      const late = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT pg_current_xact_id()::text`
            yield* Deferred.succeed(begun, undefined)
            yield* Deferred.await(written)
            return yield* emit("second")
          })
        )
      )
      yield* Deferred.await(begun)
      yield* emit("first")
      yield* Deferred.succeed(written, undefined)
      yield* LiveApi.shown(yield* Fiber.join(late))
      assert.deepStrictEqual(yield* idsAfter(from), ["first", "second"])
    })
  )

  it.effect("a stream gets waiting events as soon as the older transaction ends, even if it wrote no event", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* TestApi.TestApi
      const reader = yield* EventReader.open(baseUrl, { query: `?after=${yield* start}` })
      const names = (count: number) =>
        Effect.map(soon(reader.take(count)), (frames) => frames.map(({ data }) => JSON.parse(data ?? "").data))
      const one = yield* begin("one")
      const two = yield* begin("two")
      yield* emit("three")
      yield* two.commit
      yield* emit("four")
      // From now on, no event sends a notification.
      const before = yield* checks
      yield* soon(Effect.repeat(checks, { until: (count) => count > before + 3 }))
      assert.deepStrictEqual(yield* names(0), [])
      yield* one.rollBack
      assert.deepStrictEqual(yield* names(3), ["two", "three", "four"])
      const five = yield* begin("five")
      const six = yield* begin("six")
      yield* six.commit
      yield* five.commit
      assert.deepStrictEqual((yield* names(5)).slice(3), ["five", "six"])
    })
  )

  it.live("a read says whether events wait for an older transaction, of the moment at which it reads the others", () =>
    Effect.gen(function* () {
      const repo = yield* make
      const from = yield* start
      const position = Option.getOrThrow(yield* repo.find(from))
      const read = Effect.map(repo.tail(position, 2), ({ events, isHeldBack, isFull }) => ({
        ids: events.map(({ event }) => event.resource_id),
        isHeldBack,
        isFull
      }))
      assert.deepStrictEqual(yield* read, { ids: [], isHeldBack: false, isFull: false })
      yield* LiveApi.shown(yield* emit("one"))
      const older = yield* begin("older")
      yield* emit("two")
      assert.deepStrictEqual(yield* read, { ids: ["one"], isHeldBack: true, isFull: false })
      const empty = yield* repo.tail(Option.getOrThrow(yield* repo.last), 2)
      assert.deepStrictEqual(empty, { events: [], isHeldBack: true, isFull: false })
      yield* older.commit
      yield* awaited(read, ({ isHeldBack }) => !isHeldBack)
      assert.deepStrictEqual(yield* read, { ids: ["one", "older"], isHeldBack: false, isFull: true })
    })
  )

  it.live("events that were restored from another server come first, in their order", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* make
      const before = yield* idsAfter(0)
      yield* sql`UPDATE events SET xid = (xid::text::bigint + 4000000000)::text::xid8`
      yield* LiveApi.shown(yield* emit("new"))
      assert.deepStrictEqual(yield* idsAfter(0), ["new"])
      yield* repo.adopt
      assert.deepStrictEqual(yield* idsAfter(0), [...before, "new"])
      yield* repo.adopt
      yield* LiveApi.shown(yield* emit("newer"))
      assert.deepStrictEqual(yield* idsAfter(0), [...before, "new", "newer"])
    })
  )
})
