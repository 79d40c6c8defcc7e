// Many concurrent readers share the reads of events, and their number is limited. Readers of events wait by the clock of the machine.
import { assert } from "@effect/vitest"
import { Effect, Fiber, Latch, Stream } from "effect"
import { EventStreams } from "../../../src/server/events/EventStreams.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as LiveApi from "./LiveApi.ts"
import { emit } from "./LiveApi.ts"

/** The number of reads of pages of events so far, in all tests of this file. */
const pages = Effect.map(TestApi.call("/metrics/database_query_seconds", { key: null }), ({ text }) =>
  [...text.matchAll(/_count\{query="Events\.(?:page|tail)"\} (\d+)/g)].reduce(
    (sum, [, count]) => sum + Number(count),
    0
  )
)

/** Reads up to the event whose data is `end`. `seen` receives the whole text so far. */
const readUntil = (after: number, end: string, seen: (text: string) => void) =>
  Effect.gen(function* () {
    const streams = yield* EventStreams
    const frames = yield* streams.open({ after }, Effect.succeed(true))
    let text = ""
    yield* frames.pipe(
      Stream.tap((frame) => Effect.sync(() => seen((text += frame)))),
      Stream.takeUntil(() => text.includes(`"${end}"`)),
      Stream.runDrain
    )
    return text
  }).pipe(Effect.scoped)

/** Starts `count` readers. `reached` waits until all of them have received a text. */
const crowd = Effect.fnUntraced(function* (count: number, end: string, after = 0) {
  const texts = new Map<number, string>()
  const readers = yield* Effect.forEach(Array.from({ length: count }), (_, index) =>
    Effect.forkChild(readUntil(after, end, (text) => void texts.set(index, text)))
  )
  const reached = (what: string) =>
    Effect.repeat(
      Effect.promise(() => new Promise((resolve) => setImmediate(resolve))),
      { until: () => texts.size === count && [...texts.values()].every((text) => text.includes(what)) }
    )
  return { readers, reached }
})

layerEach(LiveApi.layer())("a crowd of readers", (it) => {
  it.live("share one read of each event", () =>
    Effect.gen(function* () {
      for (let index = 0; index < 10; index++) yield* emit(`before-${index}`)
      const { readers, reached } = yield* crowd(100, "done")
      yield* emit("first")
      yield* reached(`"first"`)
      // From now on, all readers are at the end of the table.
      yield* emit("second")
      yield* reached(`"second"`)
      const before = yield* pages
      for (let index = 0; index < 20; index++) yield* emit(`after-${index}`)
      yield* emit("done")
      const texts = yield* Effect.forEach(readers, Fiber.join)
      // 100 readers of 21 events.
      assert.isBelow((yield* pages) - before, 100)
      assert.strictEqual(new Set(texts).size, 1)
      assert.strictEqual(texts[0]?.match(/^id: /gm)?.length, 33)
    })
  )

  it.live("miss no event if they fall behind the buffer", () =>
    Effect.gen(function* () {
      const streams = yield* EventStreams
      const goOn = yield* Latch.make(false)
      const stopped = yield* Latch.make(false)
      const slow = yield* Effect.forkChild(
        Stream.unwrap(streams.open({}, Effect.succeed(true))).pipe(
          Stream.tap((frame) => (frame.includes(`"stop"`) ? Effect.andThen(stopped.open, goOn.await) : Effect.void)),
          Stream.takeUntil((frame) => frame.includes(`"end"`)),
          Stream.mkString
        )
      )
      yield* emit("stop")
      yield* stopped.await
      const { readers } = yield* crowd(1, "end")
      for (let index = 0; index < 1200; index++) yield* emit(`passed-${index}`)
      yield* emit("end")
      const [whole] = yield* Effect.forEach(readers, Fiber.join)
      yield* goOn.open
      const ids = (text: string | undefined) => text?.match(/^id: \d+$/gm)
      assert.isAbove(ids(whole)?.length ?? 0, 1200)
      assert.deepStrictEqual(ids(yield* Fiber.join(slow)), ids(whole))
    })
  )

  it.live("are limited to 1,000; the next one gets 503", () =>
    Effect.gen(function* () {
      const last = yield* emit("last")
      yield* LiveApi.shown(last)
      const { readers, reached } = yield* crowd(1000, "all", last)
      yield* reached("retry: 2000")
      const refused = yield* TestApi.call("/api/v1/events", { headers: { accept: "text/event-stream" } })
      assert.strictEqual(refused.status, 503)
      assert.strictEqual(refused.headers.get("retry-after"), "1")
      assert.strictEqual(refused.json.message, "Service Unavailable")
      assert.strictEqual((yield* TestApi.call("/api/v1/events")).status, 200)
      yield* emit("all")
      const texts = yield* Effect.forEach(readers, Fiber.join)
      assert.strictEqual(new Set(texts).size, 1)
      assert.strictEqual(
        (yield* TestApi.call("/metrics/event_streams", { key: null })).text.includes("event_streams 0"),
        true
      )
    })
  )
})
