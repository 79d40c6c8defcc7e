// An API key that is limited to some relayers sees the events of their transactions, and of no others.
// Readers of events wait by the clock of the machine.
import { assert } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { awaited } from "../../../testkit/Awaited.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { makeKey, prepare, receiver } from "../transactions/Fixtures.ts"
import * as EventReader from "./EventReader.ts"

interface Event {
  readonly id: number
  readonly type: string
  readonly resource_id: string
}

const get = Effect.fnUntraced(function* (query: string, key: string | undefined) {
  const { call } = yield* TestApi.TestApi
  const { status, json, text } = yield* call(`/api/v1/events${query}`, key === undefined ? {} : { key })
  assert.strictEqual(status, 200, text)
  return json.data as ReadonlyArray<Event>
})

const send = Effect.fnUntraced(function* (relayer: string) {
  const { call } = yield* TestApi.TestApi
  const { json } = yield* call(`/api/v1/relayers/${relayer}/transactions`, { body: { to: receiver } })
  return (json.data as { readonly id: string }).id
})

/** Waits until the event of the transaction is visible: older transactions of other tests on the same server delay it. */
const shown = (id: string) =>
  Effect.map(
    awaited(get(`?resource_id=${id}`, undefined), (events) => events.length > 0),
    ([event]) => event ?? assert.fail("no event")
  )

const sent = (relayer: string) => Effect.flatMap(send(relayer), shown)

const narrowed = Effect.andThen(prepare(), makeKey(["events:read"], { relayer_ids: ["sender"] }))

const named = (events: ReadonlyArray<Event>) => events.map(({ type, resource_id }) => [type, resource_id])

layerEach(TestApi.layer())("a key that is limited to a relayer", (it) => {
  it.live("lists events of the transactions of its relayer, and of no others", () =>
    Effect.gen(function* () {
      const key = yield* narrowed
      const [own, other, later] = [yield* sent("sender"), yield* sent("other"), yield* sent("sender")]
      assert.deepStrictEqual(named(yield* get("", key)), [
        ["relayer.created", "sender"],
        ["transaction.created", own.resource_id],
        ["transaction.created", later.resource_id]
      ])
      assert.deepStrictEqual(named(yield* get("?limit=1&type=transaction.created", key)), named([own]))
      assert.deepStrictEqual(named(yield* get(`?after=${own.id}`, key)), named([later]))
      assert.deepStrictEqual(yield* get(`?resource_id=${other.resource_id}`, key), [])
      assert.deepStrictEqual(named(yield* get("?relayer_id=other&type=transaction.created", undefined)), named([other]))
      assert.deepStrictEqual(yield* get("?relayer_id=other", key), [])
      assert.deepStrictEqual(named(yield* get("?before=latest&limit=1", key)), named([later]))
    })
  )

  it.live("waits for the event of a transaction of its relayer, past those of others", () =>
    Effect.gen(function* () {
      const key = yield* narrowed
      const last = yield* sent("other")
      const wait = Effect.repeat(get(`?after=${last.id}&wait=25`, key), { until: (events) => events.length > 0 })
      const waiting = yield* Effect.forkChild(wait)
      yield* sent("other")
      const own = yield* sent("sender")
      assert.deepStrictEqual(named(yield* Fiber.join(waiting)), named([own]))
    })
  )

  it.live("follows the transactions of its relayer in a stream, from the table and as they are sent", () =>
    Effect.gen(function* () {
      const key = yield* narrowed
      const { baseUrl } = yield* TestApi.TestApi
      const start = yield* sent("other")
      const before = yield* sent("sender")
      const reader = yield* EventReader.open(baseUrl, { key, lastEventId: start.id })
      yield* reader.take(1)
      yield* sent("other")
      const after = yield* sent("sender")
      const events = yield* reader.take(2)
      assert.deepStrictEqual(
        events.map(({ id }) => id),
        [before.id, after.id]
      )
    })
  )

  it.live("sees no events if its relayers do not exist, as with a key of an earlier version", () =>
    Effect.gen(function* () {
      const key = yield* narrowed
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE api_keys SET relayer_ids = '{unknown}' WHERE relayer_ids IS NOT NULL`
      yield* sent("sender")
      assert.deepStrictEqual(yield* get("", key), [])
    })
  )
})
