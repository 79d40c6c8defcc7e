// Events as Server-Sent Events: a stream per reader, which it may leave at any time and take up again by `Last-Event-ID`.
import { Cause, Clock, Context, Duration, Effect, Layer, Metric, Stream } from "effect"
import type { Scope } from "effect"
import { Sse } from "effect/encoding"
import type { EventQuery } from "../../domain/event/Event.ts"
import { ServiceUnavailable } from "../../domain/request/Request.ts"
import type { BadRequest } from "../../domain/request/Request.ts"
import { Draining } from "../lifecycle/Draining.ts"
import * as Metrics from "../observability/Metrics.ts"
import { EventFeed } from "./EventFeed.ts"
import { frame } from "./Frame.ts"
import type { Batch, EventReader } from "./EventReader.ts"
import * as SlowReaders from "./SlowReaders.ts"

/** Of this process. */
const maxStreams = 1000

/** Shows the reader, and whatever is between, that the stream lives. */
const heartbeat = Duration.seconds(15)

const patience = Duration.seconds(30)

/** The database is away. */
const pause = Duration.seconds(1)

const comesBack = Sse.encoder.write(new Sse.Retry({ duration: Duration.seconds(2), lastEventId: undefined }))

/** Text of the stream. */
type Frames = Stream.Stream<string>

export class EventStreams extends Context.Service<
  EventStreams,
  {
    /** `isAllowed` is asked again now and then: a key may have been taken away. */
    open(query: EventQuery, isAllowed: Effect.Effect<boolean>): Effect.Effect<Frames, BadRequest | ServiceUnavailable>
  }
>()("effect-relayer/server/events/EventStreams") {
  static readonly layerNoDeps = Layer.effect(
    EventStreams,
    Effect.gen(function* () {
      const feed = yield* EventFeed
      const draining = yield* Draining
      let count = 0

      const counted = (by: 1 | -1) =>
        Effect.suspend(() => {
          count += by
          return Metric.update(Metrics.eventStreams, count)
        })

      const next = (reader: EventReader): Effect.Effect<Batch> =>
        Effect.catchDefect(reader.next, (defect) =>
          Effect.logDebug("cannot read events", Cause.die(defect)).pipe(
            Effect.andThen(Effect.sleep(pause)),
            Effect.andThen(Effect.suspend(() => next(reader)))
          )
        )

      const frames = Effect.fnUntraced(function* (
        reader: Effect.Effect<EventReader, never, Scope.Scope>,
        isAllowed: Effect.Effect<boolean>
      ) {
        yield* Effect.acquireRelease(counted(1), () => counted(-1))
        const events = yield* reader
        let asked = yield* Clock.monotonicTimeNanos

        const step = Effect.gen(function* () {
          const now = yield* Clock.monotonicTimeNanos
          if (now - asked >= Duration.toNanosUnsafe(heartbeat)) {
            asked = now
            if (!(yield* isAllowed)) return yield* Cause.done()
          }
          const batch = yield* Effect.timeoutOption(next(events), heartbeat)
          if (batch._tag === "None") return ":\n\n"
          events.taken(batch.value)
          return batch.value.events.map(({ event }) => frame(event)).join("")
        })

        const ended = Effect.andThen(draining.begun, Cause.done())
        const steps = Effect.map(Effect.raceFirst(step, ended), (text) => [text] as const)
        return Stream.concat(Stream.succeed(comesBack), Stream.fromPull(Effect.succeed(steps)))
      })

      const open = Effect.fn("EventStreams.open")(function* (query: EventQuery, isAllowed: Effect.Effect<boolean>) {
        if (count >= maxStreams || draining.isDraining()) return yield* new ServiceUnavailable({})
        const reader = yield* feed.follow(query)
        return Stream.unwrap(frames(reader, isAllowed)).pipe(SlowReaders.cutOff(patience))
      })

      return EventStreams.of({ open })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provideMerge(EventFeed.layer))
}
