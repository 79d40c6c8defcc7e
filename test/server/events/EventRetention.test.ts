// The retention of events: the oldest are deleted, and no reader takes the gap for quiet. Readers of events wait by the clock of the machine.
import { assert } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Retentions from "../../../src/server/Retentions.ts"
import { EventFeed } from "../../../src/server/events/EventFeed.ts"
import { make, makeEventRetentionRepo } from "../../../src/server/events/Events.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as EventReader from "./EventReader.ts"
import * as LiveApi from "./LiveApi.ts"
import { emit } from "./LiveApi.ts"

const retention = Duration.days(30)

const after = (id: number) => TestApi.call(`/api/v1/events?after=${id}`)

const idsAfter = (id: number) =>
  Effect.map(after(id), ({ json }) => (json.data as ReadonlyArray<{ readonly id: number }>).map(({ id }) => id))

/** Emits events, waits until they are visible, and makes the first `old` of them older than the retention. */
const emitMany = Effect.fnUntraced(function* (count: number, old: number) {
  const sql = yield* SqlClient.SqlClient
  const ids: Array<number> = []
  for (let n = 0; n < count; n++) ids.push(yield* emit(`r${n}`))
  yield* LiveApi.shown(ids.at(-1) ?? 0)
  yield* sql`UPDATE events SET at = at - interval '31 days' WHERE id = ANY(${ids.slice(0, old)}::bigint[])`
  return ids as ReadonlyArray<number>
})

const prune = (limit = 1000) => Effect.flatMap(makeEventRetentionRepo, (repo) => repo.prune(retention, limit))

const wasPruned = (field: string, oldest: number | undefined) =>
  `${field}: is not the id of a stored event; the events up to ${oldest} were deleted because of their age, and ${oldest} is the oldest position to continue from`

const layer = LiveApi.layer()

layerEach(layer)("old events", (it) => {
  it.live("are deleted in batches, the oldest first; their readers get 400 with the oldest position", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* TestApi.TestApi
      const ids = yield* emitMany(6, 4)
      assert.deepStrictEqual([yield* prune(3), yield* prune(3), yield* prune(3)], [3, 1, 0])
      assert.deepStrictEqual(yield* idsAfter(0), ids.slice(4))
      for (const id of ids.slice(0, 3)) {
        const answer = yield* after(id)
        assert.deepStrictEqual([answer.status, answer.json.error], [400, wasPruned("after", ids[3])])
        const stream = yield* EventReader.open(baseUrl, { lastEventId: id })
        assert.strictEqual(stream.response.status, 400)
      }
      assert.deepStrictEqual(yield* idsAfter(ids[3] ?? 0), ids.slice(4))
    })
  )

  it.live("leave no gap: an event stays if an older position is young enough", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ids = yield* emitMany(5, 4)
      yield* sql`UPDATE events SET at = now() WHERE id = ${ids[1] ?? 0}`
      assert.strictEqual(yield* prune(), 1)
      assert.deepStrictEqual(yield* idsAfter(0), ids.slice(1))
    })
  )

  it.live("let a reader that has read all of them continue", () =>
    Effect.gen(function* () {
      const ids = yield* emitMany(3, 3)
      const last = ids[2] ?? 0
      assert.strictEqual(yield* prune(), 3)
      const idle = yield* after(last)
      assert.deepStrictEqual([idle.status, idle.json.data], [200, []])
      const later = yield* emit("later")
      yield* LiveApi.shown(later)
      assert.deepStrictEqual(yield* idsAfter(last), [later])
    })
  )

  it.live("end a reader that they overtake", () =>
    Effect.gen(function* () {
      const feed = yield* EventFeed
      const ids = yield* emitMany(5, 4)
      const reader = yield* yield* feed.follow({ after: ids[0] ?? 0 })
      yield* prune()
      const failed = yield* Effect.flip(reader.next)
      assert.strictEqual(failed.error, wasPruned("after", ids[3]))
    })
  )

  it.live("stay known after a restore on another server, whose transaction ids start anew", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ids = yield* emitMany(4, 2)
      yield* prune()
      yield* sql`UPDATE events SET xid = (xid::text::bigint + 1000000000)::text::xid8`
      yield* sql`UPDATE events_pruned SET xid = (xid::text::bigint + 1000000000)::text::xid8`
      yield* (yield* make).adopt
      assert.deepStrictEqual(yield* idsAfter(ids[1] ?? 0), ids.slice(2))
      assert.deepStrictEqual(yield* idsAfter(ids[2] ?? 0), ids.slice(3))
      assert.strictEqual((yield* after(ids[0] ?? 0)).status, 400)
    })
  )

  it.live("are deleted by the job, but not their deliveries; an infinite retention keeps them", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [id] = yield* emitMany(2, 1)
      yield* sql`
        INSERT INTO deliveries (id, notification_seq, event_id, lane, event, body)
        VALUES ('d', 1, ${id ?? 0}, '', 'relayer.updated', '{}')`
      yield* Layer.build(Retentions.events(Duration.infinity))
      yield* Layer.build(Retentions.events(retention))
      yield* awaited(idsAfter(0), (found) => found.length === 1)
      assert.lengthOf(yield* sql`SELECT 1 FROM deliveries WHERE event_id = ${id ?? 0}`, 1)
    }).pipe(Effect.scoped)
  )
})
