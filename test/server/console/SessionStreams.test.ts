// Streams of events in a session of the console.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as ConsolePage from "../../../testkit/ConsolePage.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as EventReader from "../events/EventReader.ts"

const open = ({ cookie, proof }: ConsolePage.SignedIn) =>
  Effect.flatMap(TestApi.TestApi, ({ baseUrl }) =>
    EventReader.open(`${baseUrl}/console`, {
      key: "none",
      headers: { ...ConsolePage.ownPage, cookie, "x-console": proof }
    })
  )

const heartbeat = Effect.andThen(
  TestClock.adjust("15 seconds"),
  Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
)

const beats = (reader: EventReader.EventReader) => reader.frames().filter(({ text }) => text === ":").length

/** Heartbeats of a stream that should have ended long before: those of 50 minutes. */
const tooMany = 200

/** Lets heartbeats pass until the stream ends. Returns how many there were. */
const heartbeatsUntilEnd = Effect.fnUntraced(function* (reader: EventReader.EventReader) {
  const state = { isOver: false }
  yield* Effect.forkChild(Effect.map(reader.ended, () => (state.isOver = true)))
  yield* Effect.repeat(heartbeat, { until: () => state.isOver || beats(reader) > tooMany })
  assert.isTrue(state.isOver, `the stream goes on after ${tooMany} heartbeats`)
  return beats(reader)
})

layerEach(TestApi.layer({ console: { files: ConsolePage.files } }))("a stream of events", (it) => {
  it.effect("ends at the heartbeat after its session was ended", () =>
    Effect.gen(function* () {
      const session = yield* ConsolePage.signIn(TestApi.apiKey)
      const reader = yield* open(session)
      yield* reader.until((frames) => frames.length > 0)
      const other = yield* ConsolePage.signIn(TestApi.apiKey)
      yield* ConsolePage.call(other, `/sessions/${session.id}`, { method: "DELETE" })
      assert.strictEqual(yield* heartbeatsUntilEnd(reader), 0)
    })
  )

  it.effect("does not prolong its session: it ends 30 minutes after the last use by a person", () =>
    Effect.gen(function* () {
      const session = yield* ConsolePage.signIn(TestApi.apiKey)
      const reader = yield* open(session)
      yield* reader.until((frames) => frames.length > 0)
      assert.isAtMost(yield* heartbeatsUntilEnd(reader), 120)
      assert.strictEqual(yield* ConsolePage.statusOf(session, "/session"), 401)
    })
  )
})
