// Streams send heartbeats, check the API key again, and disconnect readers that do not read.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as net from "node:net"
import { signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as EventReader from "./EventReader.ts"

const open = (options?: EventReader.Options) =>
  Effect.flatMap(TestApi.TestApi, ({ baseUrl }) => EventReader.open(baseUrl, options))

/** Lets the event loop run, because connections are real. */
const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

const streams = Effect.map(TestApi.call("/metrics/event_streams", { key: null }), ({ text }) =>
  Number(/^event_streams (\d+)$/m.exec(text)?.[1] ?? 0)
)

const streamsAre = (count: number) =>
  Effect.repeat(Effect.andThen(turn, streams), { until: (found) => found === count })

const passUntil = (condition: () => boolean) =>
  Effect.gen(function* () {
    while (!condition()) {
      yield* TestClock.adjust("1 second")
      yield* turn
    }
  })

const beats = (reader: EventReader.EventReader) => reader.frames().filter(({ text }) => text === ":").length

layerEach(TestApi.layer())("an open stream", (it) => {
  it.effect("a stream without events has a heartbeat every 15 seconds", () =>
    Effect.gen(function* () {
      const reader = yield* open()
      yield* reader.until((frames) => frames.length > 0)
      let seconds = 0
      for (const count of [1, 2, 3, 4]) {
        while (beats(reader) < count) {
          yield* TestClock.adjust("1 second")
          yield* turn
          seconds++
        }
        assert.isAtLeast(seconds, count * 15)
      }
    })
  )

  it.effect("a stream ends with the next heartbeat when its key is deleted", () =>
    Effect.gen(function* () {
      const made = yield* TestApi.call("/api/v1/api-keys", { body: { name: "x", scopes: ["events:read"] } })
      const { id, key } = made.json.data as { readonly id: string; readonly key: string }
      const [mine, others] = [yield* open({ key }), yield* open()]
      yield* mine.until((frames) => frames.length > 0)
      yield* passUntil(() => beats(mine) === 2)
      yield* TestApi.call(`/api/v1/api-keys/${id}`, { method: "DELETE" })
      let isOver = false
      yield* Effect.forkChild(Effect.map(mine.ended, () => (isOver = true)))
      yield* passUntil(() => isOver)
      // The key is checked after the wait for the next heartbeat, and before it is sent.
      assert.strictEqual(beats(mine), 2)
      const before = beats(others)
      yield* passUntil(() => beats(others) > before)
      const again = yield* TestApi.call("/api/v1/events", { key, headers: { accept: "text/event-stream" } })
      assert.strictEqual(again.status, 401)
    })
  )

  it.effect("a stream ends when its key is deleted, even if the clock is set back", () =>
    Effect.gen(function* () {
      const made = yield* TestApi.call("/api/v1/api-keys", { body: { name: "x", scopes: ["events:read"] } })
      const { id, key } = made.json.data as { readonly id: string; readonly key: string }
      yield* TestClock.adjust("1 hour")
      const reader = yield* open({ key })
      yield* reader.until((frames) => frames.length > 0)
      yield* TestClock.setTime(0)
      yield* TestApi.call(`/api/v1/api-keys/${id}`, { method: "DELETE" })
      let isOver = false
      yield* Effect.forkChild(Effect.map(reader.ended, () => (isOver = true)))
      yield* passUntil(() => isOver)
    })
  )

  it.effect("a reader that reads nothing for 30 seconds is disconnected, and can resume", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // More bytes than the buffers of the connection can hold.
      yield* sql`
        INSERT INTO events (type, resource_id, data)
        SELECT 'relayer.updated', n::text, to_json(repeat('x', 60000)) FROM generate_series(1, 300) n`
      const { baseUrl } = yield* TestApi.TestApi
      // The streams of earlier tests have ended.
      yield* streamsAre(0)
      const { hostname, port } = new URL(baseUrl)
      const socket = yield* Effect.acquireRelease(
        Effect.sync(() => net.connect(Number(port), hostname)),
        (socket) => Effect.sync(() => socket.destroy())
      )
      socket.on("error", () => undefined)
      socket.pause()
      const lines = ["GET /api/v1/events HTTP/1.1", "host: x", `authorization: Bearer ${TestApi.apiKey}`]
      socket.write([...lines, "accept: text/event-stream", "", ""].join("\r\n"))
      yield* streamsAre(1)

      let waited = 0
      while ((yield* streams) > 0) {
        yield* TestClock.adjust("1 second")
        waited++
      }
      assert.isAtLeast(waited, 30)

      let text = ""
      socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")))
      const closed = new Promise((resolve) => socket.once("close", resolve))
      socket.resume()
      yield* Effect.promise(() => closed)
      // The last frame may be incomplete.
      const got = [...text.matchAll(/^id: (\d+)\r?\nevent: [^\n]+\ndata: [^\n]+\}\n\n/gm)].map(([, id]) => Number(id))
      const all = yield* sql<{ readonly id: number }>`SELECT id::int AS id FROM events ORDER BY xid, id`
      assert.isBelow(got.length, all.length)
      const rest = yield* open({ lastEventId: got.at(-1) ?? 0 })
      const frames = yield* rest.take(all.length - got.length)
      assert.deepStrictEqual(
        [...got, ...frames.map(({ id }) => id)],
        all.map(({ id }) => id)
      )
    })
  )

  it.effect("a reader that reads stays connected", () =>
    Effect.gen(function* () {
      const reader = yield* open({ query: "?resource_id=late" })
      yield* reader.until((frames) => frames.length > 0)
      yield* passUntil(() => beats(reader) === 20)
      yield* TestApi.call("/api/v1/signers", { body: { ...signer, id: "late" } })
      yield* passUntil(() => reader.events().length === 1)
    })
  )
})
