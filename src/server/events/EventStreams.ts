// Events as Server-Sent Events: one stream per reader. A reader resumes with `Last-Event-ID`.
import { Cause, Clock, Context, Duration, Effect, Fiber, Layer, Metric, Schema, Stream } from "effect"
import type { Scope } from "effect"
import { Sse } from "effect/encoding"
import { Event } from "../../domain/event/Event.ts"
import type { EventQuery } from "../../domain/event/Event.ts"
import * as Json from "../../api/Json.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { ServiceUnavailable } from "../../domain/request/Request.ts"
import type { BadRequest } from "../../domain/request/Request.ts"
import { forEachPaced } from "../../sql/Rows.ts"
import { Draining } from "../lifecycle/Lifecycle.ts"
import { makeCallerLimit } from "../limits/RateLimits.ts"
import { EventFeed } from "./EventFeed.ts"
import type { EventBatch, EventReader } from "./EventFeed.ts"

export const eventStreams = Metric.gauge("event_streams", { description: "Open streams of events." })

/** Open streams of this instance. Each has a connection, a buffer for what its reader has not read, and a fiber. */
const maxStreams = 1000

/** Open streams of all callers with scopes. The others are for the administrator. */
const maxOfCallers = 900

/** Open streams of one caller. */
export const maxPerCaller = 20

/** A stream without events sends a comment this often, so that readers and proxies keep the connection. */
const heartbeat = Duration.seconds(15)

/** A reader that takes nothing for so long is disconnected. */
const patience = Duration.seconds(30)

/** Asks the reader to reconnect after two seconds. */
const retry = Sse.encoder.write(new Sse.Retry({ duration: Duration.seconds(2), lastEventId: undefined }))

const encode = Schema.encodeSync(Json.fromText(Event))

const frames = new WeakMap<Event, string>()

/** The text of an event in a stream, encoded once for all readers. */
const frameOf = (event: Event): string => {
  let text = frames.get(event)
  if (text === undefined) {
    text = Sse.encoder.write({ _tag: "Event", id: String(event.id), event: event.type, data: encode(event) })
    frames.set(event, text)
  }
  return text
}

/**
 * Disconnects readers that do not read their stream: its text would fill the memory. Interrupts the fiber that runs the stream,
 * and with it the response, if it has not pulled for `patience`.
 */
const disconnectSlow = <A, E, R>(self: Stream.Stream<A, E, R>): Stream.Stream<A, E, R> =>
  Stream.transformPull(self, (pull, scope) =>
    Effect.sync(() => {
      let watch: Fiber.Fiber<void> | undefined
      return Effect.withFiber((reader) => {
        watch?.interruptUnsafe()
        return Effect.tap(pull, () =>
          Effect.sleep(patience).pipe(
            Effect.andThen(Effect.logInfo("event stream closed because its reader is too slow")),
            Effect.andThen(Effect.sync(() => reader.interruptUnsafe())),
            Effect.forkIn(scope),
            Effect.map((fiber) => (watch = fiber))
          )
        )
      })
    })
  )

const makeEventStreams = Effect.gen(function* () {
  const feed = yield* EventFeed
  const draining = yield* Draining
  const limit = yield* makeCallerLimit({ name: "event_streams", max: maxPerCaller })
  let count = 0

  const counted = (by: 1 | -1) =>
    Effect.suspend(() => {
      count += by
      return Metric.update(eventStreams, count)
    })

  /** Checks and counts in one step, so that concurrent requests do not pass together. */
  const admit = (caller: Caller.Caller) =>
    Effect.suspend(() =>
      count >= (Caller.isAdministrator(caller) ? maxStreams : maxOfCallers) || draining.isDraining()
        ? Effect.fail(new ServiceUnavailable({}))
        : counted(1)
    )

  const read = Effect.fnUntraced(function* (
    reader: Effect.Effect<EventReader<BadRequest>, never, Scope.Scope>,
    isAllowed: Effect.Effect<boolean>
  ) {
    const events = yield* reader
    const scope = yield* Effect.scope
    let pending: Fiber.Fiber<EventBatch, BadRequest> | undefined
    let checked = yield* Clock.monotonicTimeNanos

    const step = Effect.gen(function* () {
      // A heartbeat does not interrupt the read: it would never finish if the database needed longer.
      pending ??= yield* Effect.forkIn(events.next, scope)
      const batch = yield* Effect.timeoutOption(Fiber.join(pending), heartbeat)
      // After the wait: the key may have been revoked meanwhile.
      const now = yield* Clock.monotonicTimeNanos
      if (now - checked >= Duration.toNanosUnsafe(heartbeat)) {
        checked = now
        if (!(yield* isAllowed)) return yield* Cause.done()
      }
      if (batch._tag === "None") return ":\n\n"
      pending = undefined
      events.taken(batch.value)
      const texts = yield* forEachPaced(batch.value.events, ({ event }) => Effect.sync(() => frameOf(event)))
      return texts.join("")
    })

    const ended = Effect.andThen(draining.begun, Cause.done())
    // If events were deleted before the reader got them, the stream ends: the next request of the reader says so.
    const next = Effect.catchTag(step, "BadRequest", () => Cause.done())
    const steps = Effect.map(Effect.raceFirst(next, ended), (text) => [text] as const)
    return Stream.concat(Stream.succeed(retry), Stream.fromPull(Effect.succeed(steps)))
  })

  /**
   * `isAllowed` is evaluated again at each heartbeat, and before events that come later than a heartbeat after the last
   * evaluation: the key may have been revoked. The stream counts as open until the
   * scope, which is that of the request, closes. Fails with `TooManyRequests` if the caller has `maxPerCaller` streams.
   */
  const open = Effect.fn("EventStreams.open")(function* (query: EventQuery, isAllowed: Effect.Effect<boolean>) {
    const caller = yield* Caller.current
    yield* limit.begin(caller)
    yield* Effect.acquireRelease(admit(caller), () => counted(-1))
    const reader = yield* feed.follow(query)
    return Stream.unwrap(read(reader, isAllowed)).pipe(disconnectSlow)
  })

  return { open }
})

export class EventStreams extends Context.Service<EventStreams, Effect.Success<typeof makeEventStreams>>()(
  "effect-relayer/server/events/EventStreams"
) {
  static readonly layer = Layer.effect(EventStreams, makeEventStreams).pipe(Layer.provideMerge(EventFeed.layer))
}
