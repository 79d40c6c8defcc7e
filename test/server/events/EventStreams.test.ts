// Event streams over HTTP. Sockets time out by the clock of the machine.
import { PgClient } from "@effect/sql-pg"
import { assert } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { Draining } from "../../../src/server/lifecycle/Lifecycle.ts"
import { signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"
import * as EventReader from "./EventReader.ts"
import * as LiveApi from "./LiveApi.ts"
import { asTimePasses, emit, soon } from "./LiveApi.ts"

const open = (options?: EventReader.Options) =>
  Effect.flatMap(TestApi.TestApi, ({ baseUrl }) => EventReader.open(baseUrl, options))

const names = (frames: ReadonlyArray<EventReader.Frame>) =>
  frames.map(({ data }) => (JSON.parse(data ?? "") as { readonly resource_id: string }).resource_id)

layerEach(LiveApi.layer())("a stream of events", (it) => {
  it.effect("has past and new events in the form of the list", () =>
    Effect.gen(function* () {
      yield* TestApi.call("/api/v1/signers", { body: signer })
      const reader = yield* open()
      assert.strictEqual(reader.response.status, 200)
      const header = (name: string) => reader.response.headers.get(name)
      assert.match(header("content-type") ?? "", /^text\/event-stream/)
      assert.strictEqual(header("cache-control"), "no-store")
      assert.strictEqual(header("connection"), "close")
      assert.match(header("x-request-id") ?? "", /^[0-9a-f-]{36}$/)
      assert.isNotNull(header("ratelimit"))
      yield* soon(reader.take(1))
      yield* emit("first\nsecond")
      yield* soon(reader.take(2))
      assert.strictEqual(reader.frames()[0]?.text, "retry: 2000")
      const { data: listed } = (yield* TestApi.call("/api/v1/events")).json
      assert.deepStrictEqual(
        reader.events().map(({ data }) => JSON.parse(data ?? "")),
        listed
      )
      const [created, updated] = reader.events()
      assert.strictEqual(created?.event, "signer.created")
      assert.strictEqual(updated?.event, "relayer.updated")
      assert.strictEqual(updated?.text.split("\n").length, 3)
    })
  )

  it.effect(
    "continues after `Last-Event-ID`, which takes precedence over `after`, with the events that the query selects",
    () =>
      Effect.gen(function* () {
        const ids = []
        for (const id of ["a", "b", "a", "c", "a"]) ids.push(yield* emit(id))
        yield* LiveApi.shown(ids.at(-1) ?? 0)
        const resumed = yield* open({ lastEventId: ids[1] ?? 0, query: `?after=${ids[3]}` })
        assert.deepStrictEqual(names(yield* soon(resumed.take(3))), ["a", "c", "a"])
        const after = yield* open({ query: `?after=${ids[3]}` })
        assert.deepStrictEqual(names(yield* soon(after.take(1))), ["a"])
        const filtered = yield* open({ lastEventId: ids[0] ?? 0, query: "?resource_id=a&type=relayer.updated" })
        assert.deepStrictEqual(names(yield* soon(filtered.take(2))), ["a", "a"])
        for (const id of ["d", "a"]) yield* emit(id)
        assert.deepStrictEqual(names(yield* soon(filtered.take(3))), ["a", "a", "a"])
      })
  )

  it.effect("a key sees the relayers that it is limited to", () =>
    Effect.gen(function* () {
      yield* LedgerRows.insertNamed("mine")
      const body = { name: "x", scopes: ["events:read"], relayer_ids: ["mine"] }
      const { key } = (yield* TestApi.call("/api/v1/api-keys", { body })).json.data as { readonly key: string }
      const reader = yield* open({ key })
      for (const id of ["mine", "other", "mine"]) yield* emit(id)
      yield* TestApi.call("/api/v1/signers", { body: { ...signer, id: "mine" } })
      yield* emit("mine", "last")
      const frames = yield* soon(reader.take(3))
      assert.deepStrictEqual(names(frames), ["mine", "mine", "mine"])
      assert.include(frames[2]?.data, "last")
    })
  )

  it.effect("continues if the connection that listens for notifications breaks", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const reader = yield* open({ query: "?resource_id=survivor" })
      yield* emit("survivor", "1")
      yield* soon(reader.take(1))
      for (const data of ["2", "3"]) {
        yield* asTimePasses(LiveApi.listening)
        const killed = yield* sql`
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND query LIKE 'LISTEN%'`
        assert.strictEqual(killed.length, 1)
        yield* emit("survivor", data)
        yield* asTimePasses(reader.take(Number(data)))
      }
      assert.strictEqual(reader.events().length, 3)
    })
  )

  it.effect("ends when the instance drains, which then opens no new stream", () =>
    Effect.gen(function* () {
      const readers = [yield* open(), yield* open(), yield* open({ query: "?resource_id=nothing" })]
      for (const reader of readers) yield* reader.until((frames) => frames.length > 0)
      yield* (yield* Draining).begin
      for (const reader of readers) yield* reader.ended
      const refused = yield* TestApi.call("/api/v1/events", { headers: { accept: "text/event-stream" } })
      assert.strictEqual(refused.status, 503)
      assert.strictEqual(refused.headers.get("retry-after"), "1")
    })
  )
})

/** The database client of a host program, which can run statements but cannot listen. */
const deaf = Layer.effect(
  SqlClient.SqlClient,
  Effect.map(PgClient.PgClient, (sql): SqlClient.SqlClient => {
    return new Proxy(sql, { has: (target, key) => key !== PgClient.TypeId && Reflect.has(target, key) })
  })
).pipe(Layer.provide(TestDatabase.layer))

const host = TestApi.layerWith({}, deaf).pipe(Layer.provideMerge(Logger.layer([])))

layerEach(host)("a host program whose database client cannot listen", (it) => {
  it.effect("gets events by polling every second", () =>
    Effect.gen(function* () {
      const reader = yield* open()
      yield* reader.until((frames) => frames.length > 0)
      for (const id of ["a", "b"]) {
        yield* TestApi.call("/api/v1/signers", { body: { ...signer, id } })
        const frames = yield* asTimePasses(reader.take(id === "a" ? 1 : 2))
        assert.strictEqual(names(frames).at(-1), id)
      }
      assert.deepStrictEqual(yield* LiveApi.listeners, [])
    })
  )
})

/** Real milliseconds: sockets time out by the clock of Node. */
const requestTimeoutMs = 2500

layerEach(LiveApi.layer({ server: { requestTimeoutMs, maxBodyBytes: 1000 } }))("a short time limit", (it) => {
  it.live("applies to requests but not to streams", () =>
    Effect.gen(function* () {
      const reader = yield* open()
      const timedOut = yield* TestApi.call("/api/v1/events?wait=25")
      assert.strictEqual(timedOut.status, 503)
      yield* emit("afterwards")
      assert.deepStrictEqual(names(yield* reader.take(1)), ["afterwards"])
    })
  )
})
