// The newest events, read once for all who follow along in this process, and only while somebody does.
import { Context, Duration, Effect, Latch, Layer, Option, RcRef } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as Listen from "../../sql/Listen.ts"
import { channel } from "./Events.ts"
import { EventsRepo } from "./EventsRepo.ts"
import type { PlacedEvent } from "./EventsRepo.ts"
import * as EventBuffer from "./EventBuffer.ts"
import { start } from "./Position.ts"

/** Events that are read at once. */
const batch = 200

/** When nobody has told of anything: a notification may have been lost. */
const lookAgain = Duration.seconds(5)

/** Where nobody can tell. */
const lookAgainDeaf = Duration.seconds(1)

/** Nobody tells when an older transaction ends without an event. */
const lookAgainHeldBack = Duration.millis(100)

/** Somebody who comes back soon is spared the beginning. */
const lingers = "30 seconds"

/** The database is away. */
const pause = "1 second"

export class EventTail extends Context.Service<
  EventTail,
  {
    /** Grows for as long as somebody has it. */
    readonly open: Effect.Effect<EventBuffer.EventBuffer, never, Scope.Scope>
  }
>()("effect-relayer/server/events/EventTail") {
  static readonly layer = Layer.effect(
    EventTail,
    Effect.gen(function* () {
      const repo = yield* EventsRepo
      const sql = yield* SqlClient.SqlClient
      const unheard = Listen.canListen(sql) ? lookAgain : lookAgainDeaf

      const begin = Effect.map(
        repo.last,
        Option.getOrElse(() => start)
      )

      const readOn = Effect.fnUntraced(function* (held: EventBuffer.EventBuffer) {
        let head = held.head() ?? (yield* begin)
        if (held.head() === undefined) yield* held.begin(head)
        let found: ReadonlyArray<PlacedEvent>
        do {
          found = yield* repo.page({ after: head, limit: batch })
          yield* held.add(found)
          head = found.at(-1)?.position ?? head
        } while (found.length === batch)
        return (yield* repo.isHeldBack) ? lookAgainHeldBack : unheard
      })

      const follow = Effect.gen(function* () {
        const held = EventBuffer.make()
        const told = yield* Latch.make(false)
        yield* Effect.forkScoped(Listen.listen(sql, channel, Effect.asVoid(told.open)))
        yield* told.close.pipe(
          Effect.andThen(readOn(held)),
          Effect.flatMap((wait) => Effect.timeoutOption(told.await, wait)),
          Effect.catchCause((cause) =>
            Effect.andThen(Effect.logDebug("cannot read events", cause), Effect.sleep(pause))
          ),
          Effect.forever,
          Effect.forkScoped
        )
        return held
      })

      const shared = yield* RcRef.make({ acquire: follow, idleTimeToLive: lingers })
      return EventTail.of({ open: RcRef.get(shared) })
    })
  )
}
