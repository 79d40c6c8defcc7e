// Reads new events once for all readers of this instance, as long as there are readers.
import { Context, Duration, Effect, Latch, Layer, Option, RcRef } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import { canListen, listen } from "../../sql/Session.ts"
import { Jobs } from "../lifecycle/Lifecycle.ts"
import * as EventBuffer from "./EventBuffer.ts"
import { channel } from "./Events.ts"
import * as EventsRepo from "./EventsRepo.ts"
import type { EventPage } from "./EventsRepo.ts"
import { start } from "./Position.ts"

/** Events of one query. */
const batch = 200

/** Without a notification, the table is read again after this time: a notification may be lost. */
const pollEvery = Duration.seconds(5)

/** The same if the database client of a host program cannot listen. */
const pollEveryDeaf = Duration.seconds(1)

/** The same if events wait for an older transaction: its end sends no notification if it published no event. */
const pollEveryHeldBack = Duration.millis(100)

/** A reader that reconnects within this time continues from memory. */
const idleTimeToLive = "30 seconds"

export class EventTail extends Context.Service<
  EventTail,
  {
    /** The newest events. The buffer grows until the scope closes. */
    readonly open: Effect.Effect<EventBuffer.EventBuffer, never, Scope.Scope>
  }
>()("effect-relayer/server/events/EventTail") {
  static readonly layer = Layer.effect(
    EventTail,
    Effect.gen(function* () {
      const repo = yield* EventsRepo.make
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const poll = canListen(sql) ? pollEvery : pollEveryDeaf

      const begin = Effect.map(
        repo.last,
        Option.getOrElse(() => start)
      )

      /** Reads all events that can be read now. Returns the time after which there may be more without a notification. */
      const readNew = Effect.fnUntraced(function* (buffer: EventBuffer.EventBuffer) {
        let head = buffer.head() ?? (yield* begin)
        if (buffer.head() === undefined) yield* buffer.begin(head)
        // Read before the events: an event whose older transaction ends in between would not be found until the next poll.
        const isHeldBack = yield* repo.isHeldBack
        let found: EventPage
        do {
          found = yield* repo.page({ after: head, limit: batch })
          yield* buffer.add(found.events)
          head = found.events.at(-1)?.position ?? head
        } while (found.isFull)
        return isHeldBack ? pollEveryHeldBack : poll
      })

      const follow = Effect.gen(function* () {
        const buffer = EventBuffer.make()
        const notified = yield* Latch.make(false)
        yield* Effect.forkScoped(listen(sql, channel, Effect.asVoid(notified.open)))
        yield* jobs.run({
          job: "events",
          task: "tail",
          // The latch is closed before reading, so that a notification during the reading is not lost.
          work: Effect.andThen(notified.close, readNew(buffer)),
          wait: (atMost: Duration.Duration) => Effect.timeoutOption(notified.await, atMost)
        })
        return buffer
      })

      const shared = yield* RcRef.make({ acquire: follow, idleTimeToLive })
      return EventTail.of({ open: RcRef.get(shared) })
    })
  )
}
