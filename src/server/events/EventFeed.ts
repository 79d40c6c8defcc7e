// Reading events: page by page, or along with what happens. An order that all readers share, and from which nothing is
// missing: after an event, the next ones are the same whenever somebody asks.
import { Context, Effect, Layer, Option, Stream } from "effect"
import type { Scope } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { defaultEvents, maxEvents, maxWait } from "../../domain/event/Event.ts"
import type { Event, EventQuery } from "../../domain/event/Event.ts"
import type { Items } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { Draining } from "../lifecycle/Draining.ts"
import { EventsRepo } from "./EventsRepo.ts"
import type { Filter } from "./EventsRepo.ts"
import * as Position from "./Position.ts"
import * as EventReader from "./EventReader.ts"
import { EventTail } from "./EventTail.ts"

const filterOf = ({ type, resource_id }: EventQuery, { relayerIds }: Caller.Caller): Filter => ({
  ...(type === undefined ? {} : { type }),
  ...(resource_id === undefined ? {} : { resource_id }),
  ...(relayerIds === undefined ? {} : { relayerIds })
})

export class EventFeed extends Context.Service<
  EventFeed,
  {
    /** `next` is where to go on, also at the end, where there is nothing yet. */
    list(query: EventQuery): Effect.Effect<Items<Event>, BadRequest>
    /** What the caller may see of what the query selects, without an end. */
    follow(query: EventQuery): Effect.Effect<Effect.Effect<EventReader.EventReader, never, Scope.Scope>, BadRequest>
    /** The same for a program: what has been, and what happens. Who goes on later does so after the last event's `id`. */
    stream(query: EventQuery): Stream.Stream<Event, BadRequest>
  }
>()("effect-relayer/server/events/EventFeed") {
  static readonly layerNoDeps = Layer.effect(
    EventFeed,
    Effect.gen(function* () {
      const repo = yield* EventsRepo
      const tail = yield* EventTail
      const draining = yield* Draining

      const begin = Effect.fnUntraced(function* ({ after, lastEventId }: EventQuery) {
        const id = lastEventId ?? after ?? 0
        if (id === 0) return Position.start
        const found = yield* repo.find(id)
        if (Option.isSome(found)) return found.value
        return yield* BadRequest.of([
          { field: lastEventId === undefined ? "after" : "last-event-id", message: "is no event" }
        ])
      })

      const open = (filter: Filter, from: Position.Position, limit: number) =>
        Effect.map(tail.open, (held) => EventReader.make({ repo, held, filter, from, limit }))

      const list = Effect.fn("EventFeed.list")(function* (query: EventQuery) {
        const filter = filterOf(query, yield* Caller.current)
        const from = yield* begin(query)
        const limit = Math.min(Math.max(query.limit ?? defaultEvents, 1), maxEvents)
        const wait = Math.min(query.wait ?? 0, maxWait)
        let found = yield* repo.page({ ...filter, after: from, limit })
        if (found.length === 0 && wait > 0) {
          const { next } = yield* open(filter, from, limit)
          const waited = yield* Effect.timeoutOption(Effect.raceFirst(next, draining.begun), wait * 1000)
          found = Option.getOrUndefined(waited)?.events ?? []
        }
        const id = found.at(-1)?.position.id ?? from.id
        const items = found.map(({ event }) => event)
        return id === 0 ? { items } : { items, next: String(id) }
      }, Effect.scoped)

      const follow = (query: EventQuery) =>
        Effect.map(Effect.all([begin(query), Caller.current]), ([from, caller]) =>
          open(filterOf(query, caller), from, defaultEvents)
        )

      const stream = (query: EventQuery) =>
        Effect.flatten(follow(query)).pipe(
          Effect.map((reader) =>
            Stream.fromEffectRepeat(Effect.tap(reader.next, (batch) => Effect.sync(() => reader.taken(batch))))
          ),
          Stream.unwrap,
          Stream.flatMap(({ events }) => Stream.fromIterable(events)),
          Stream.map(({ event }) => event)
        )

      return EventFeed.of({ list, follow, stream })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide(EventTail.layer), Layer.provide(EventsRepo.layer))
}
