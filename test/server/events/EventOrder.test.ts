// The order of events: nothing comes in before what has been shown, whoever commits when.
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { EventsRepo } from "../../../src/server/events/EventsRepo.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as EventReader from "./EventReader.ts"
import * as LiveApi from "./LiveApi.ts"
import { emit } from "./LiveApi.ts"

const call = (path: string) => Effect.flatMap(TestApi.TestApi, (api) => api.call(path))

const shown = Effect.map(call("/api/v1/events"), ({ json }) =>
  (json.data as ReadonlyArray<{ readonly resource_id: string }>).map(({ resource_id }) => resource_id)
)

/** How often it was looked whether something is held back. */
const looks = Effect.map(call("/metrics/database_query_seconds"), ({ text }) =>
  Number(/_count\{query="EventsRepo.isHeldBack"\} (\d+)/.exec(text)?.[1] ?? 0)
)

/** A transaction that has written an event, and ends as the deferred says. */
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

layer(LiveApi.layer(), LiveApi.options)("the order of events", (it) => {
  it.effect("an event waits for older transactions, and is no place to go on after until it is shown", () =>
    Effect.gen(function* () {
      const older = yield* begin("older")
      const later = yield* emit("later")
      assert.deepStrictEqual(yield* shown, [])
      for (const id of [older.event, later]) {
        const answer = yield* call(`/api/v1/events?after=${id}`)
        assert.strictEqual(answer.json.error, "after: is no event")
      }
      yield* older.commit
      yield* LiveApi.shown(later)
      assert.deepStrictEqual(yield* shown, ["older", "later"])
    })
  )

  it.effect("a stream brings what was held back as soon as the older transaction ends, also without an event", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* TestApi.TestApi
      const reader = yield* EventReader.open(baseUrl)
      yield* reader.take(2)
      // Without looking more often while something is held back, it would be 5 seconds.
      const names = (count: number) =>
        Effect.map(Effect.timeout(reader.take(count), "4500 millis"), (frames) =>
          frames.map(({ data }) => JSON.parse(data ?? "").data)
        )
      const one = yield* begin("one")
      const two = yield* begin("two")
      yield* emit("three")
      yield* two.commit
      yield* emit("four")
      assert.deepStrictEqual(yield* names(2), ["older", "later"])
      // Nobody tells of anything any more.
      const before = yield* looks
      yield* Effect.timeout(Effect.repeat(looks, { until: (count) => count > before + 3 }), "4500 millis")
      assert.deepStrictEqual(yield* names(2), ["older", "later"])
      yield* one.rollBack
      assert.deepStrictEqual(yield* names(5), ["older", "later", "two", "three", "four"])
      const five = yield* begin("five")
      const six = yield* begin("six")
      yield* six.commit
      yield* five.commit
      assert.deepStrictEqual((yield* names(7)).slice(5), ["five", "six"])
    })
  )

  it.effect("events that were restored into another server come first, in their order", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* EventsRepo
      const before = yield* shown
      yield* sql`UPDATE events SET xid = (xid::text::bigint + 4000000000)::text::xid8`
      yield* LiveApi.shown(yield* emit("new"))
      assert.deepStrictEqual(yield* shown, ["new"])
      yield* repo.adopt
      assert.deepStrictEqual(yield* shown, [...before, "new"])
      yield* repo.adopt
      yield* LiveApi.shown(yield* emit("newer"))
      assert.deepStrictEqual(yield* shown, [...before, "new", "newer"])
    }).pipe(Effect.provide(EventsRepo.layer))
  )
})
