// Reads events in pages or as they are published. All readers see the same order, and no event ever appears before an event
// that a reader has seen.
import { Context, Effect, Layer, Option, Stream } from "effect"
import type { Scope } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { defaultEvents, maxEvents, maxWait } from "../../domain/event/Event.ts"
import type { Event, EventQuery } from "../../domain/event/Event.ts"
import type { Items } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { Draining } from "../lifecycle/Draining.ts"
import { Jobs } from "../lifecycle/Jobs.ts"
import * as EventReader from "./EventReader.ts"
import { EventTail } from "./EventTail.ts"
import * as EventsRepo from "./EventsRepo.ts"
import * as EventRetentionRepo from "./EventRetentionRepo.ts"
import type { EventPage, Filter, Selection } from "./EventsRepo.ts"
import * as Position from "./Position.ts"

/** A reader must not take a gap in the events for quiet. */
const wasPruned = ({ id }: Position.Position) =>
  `is not the id of a stored event; the events up to ${id} were deleted because of their age, and ${id} is the oldest position to continue from`

export class EventFeed extends Context.Service<
  EventFeed,
  {
    /** `next` is the position to continue from, also at the end of the feed. */
    list(query: EventQuery): Effect.Effect<Items<Event>, BadRequest>
    /**
     * Follows what the query selects and the caller may see, without an end. While the database is away, it waits. The reader
     * fails if events were deleted before it has read them.
     */
    follow(
      query: EventQuery
    ): Effect.Effect<Effect.Effect<EventReader.EventReader<BadRequest>, never, Scope.Scope>, BadRequest>
    /** The same as a stream, for host programs. To continue later, start after the `id` of the last event. */
    stream(query: EventQuery): Stream.Stream<Event, BadRequest>
  }
>()("effect-relayer/server/events/EventFeed") {
  /** @internal */
  static readonly layer = Layer.effect(
    EventFeed,
    Effect.gen(function* () {
      const repo = yield* EventsRepo.make
      const { pruned } = yield* EventRetentionRepo.make
      const tail = yield* EventTail
      const draining = yield* Draining
      const jobs = yield* Jobs

      /** What the query selects and the caller may see: of its relayers, not what earlier ones with the same ids have left. */
      const filterOf = Effect.fnUntraced(function* ({ type, resource_id }: EventQuery) {
        const { relayerIds } = yield* Caller.current
        const filter: Filter = {
          ...(type === undefined ? {} : { type }),
          ...(resource_id === undefined ? {} : { resource_id }),
          ...(relayerIds === undefined ? {} : { relayers: yield* repo.births(relayerIds) })
        }
        return filter
      })

      const begin = Effect.fnUntraced(function* ({ after, lastEventId }: EventQuery) {
        const id = lastEventId ?? after ?? 0
        if (id === 0) return Position.start
        const found = yield* repo.find(id)
        if (Option.isSome(found)) return found.value
        const last = Option.getOrUndefined(yield* pruned)
        if (last?.id === id) return last
        const message = last === undefined ? "is not the id of an event" : wasPruned(last)
        return yield* BadRequest.of([{ field: lastEventId === undefined ? "after" : "last-event-id", message }])
      })

      /** A page of the table that was read after `after`. Asked afterwards, because events may be deleted meanwhile. */
      const withoutGap = Effect.fnUntraced(function* (after: Position.Position, found: EventPage) {
        if (after === Position.start) return found
        const last = Option.getOrUndefined(yield* pruned)
        if (last === undefined || !Position.isAfter(last, after)) return found
        return yield* BadRequest.of([{ field: "after", message: wasPruned(last) }])
      })

      const page = (selection: Selection) =>
        Effect.flatMap(repo.page(selection), (found) => withoutGap(selection.after, found))

      const list = Effect.fn("EventFeed.list")(function* (query: EventQuery) {
        const filter = yield* filterOf(query)
        const from = yield* begin(query)
        const limit = Math.min(Math.max(query.limit ?? defaultEvents, 1), maxEvents)
        const wait = Math.min(query.wait ?? 0, maxWait)
        let found = (yield* page({ ...filter, after: from, limit })).events
        if (found.length === 0 && wait > 0) {
          const { next } = EventReader.make({ page, buffer: yield* tail.open, filter, from, limit })
          const waited = yield* Effect.timeoutOption(Effect.raceFirst(next, draining.begun), wait * 1000)
          found = Option.getOrUndefined(waited)?.events ?? []
        }
        const id = found.at(-1)?.position.id ?? from.id
        const items = found.map(({ event }) => event)
        return id === 0 ? { items } : { items, next: String(id) }
      }, Effect.scoped)

      const open = Effect.fnUntraced(function* (filter: Filter, from: Position.Position) {
        const reading = yield* jobs.supervise({ job: "events", task: "read" })
        return EventReader.make({
          page: (selection) =>
            Effect.flatMap(reading(repo.page(selection)), (found) => withoutGap(selection.after, found)),
          buffer: yield* tail.open,
          filter,
          from,
          limit: defaultEvents
        })
      })

      const follow = (query: EventQuery) =>
        Effect.map(Effect.all([begin(query), filterOf(query)]), ([from, filter]) => open(filter, from))

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
  ).pipe(Layer.provide(EventTail.layer))
}
