// Reads events in pages or as they are published. All readers see the same order, and no event ever appears before an event
// that a reader has seen.
import { Context, Effect, Layer, Option, Stream } from "effect"
import type { Scope } from "effect"
import { defaultEvents, maxEvents, maxWait } from "../../domain/event/Event.ts"
import type { Event, EventQuery } from "../../domain/event/Event.ts"
import * as Caller from "../../domain/access/Caller.ts"
import type { Items } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { Draining, Jobs } from "../lifecycle/Lifecycle.ts"
import * as EventReader from "./EventReader.ts"
import { EventTail } from "./EventTail.ts"
import * as EventsRepo from "./EventsRepo.ts"
import * as EventRetentionRepo from "./EventRetentionRepo.ts"
import type { EventPage, Filter, Selection } from "./EventsRepo.ts"
import * as Position from "./Position.ts"

/** A reader must not take a gap in the events for quiet. */
const wasPruned = ({ id }: Position.Position) =>
  `is not the id of a stored event; the events up to ${id} were deleted because of their age, and ${id} is the oldest position to continue from`

/** The name of a member of the query on the wire. */
const nameOf = (member: keyof EventQuery): string => (member === "lastEventId" ? "last-event-id" : member)

export class EventFeed extends Context.Service<
  EventFeed,
  {
    /**
     * `next` is the position to continue from, also at the end of the feed. With `before`, the newest event is first, and `next` is absent
     * if there are no older ones.
     */
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

      /**
       * The relayers that the query selects and the caller may see. A caller that is limited to relayers does not see what earlier ones
       * with the same ids have left.
       */
      const relayersOf = Effect.fnUntraced(function* ({ relayer_id }: EventQuery) {
        const { relayerIds } = yield* Caller.current
        if (relayerIds === undefined) return relayer_id === undefined ? undefined : new Map([[relayer_id, 0]])
        return yield* repo.births(
          relayer_id === undefined ? relayerIds : relayerIds.filter((allowed) => allowed === relayer_id)
        )
      })

      const filterOf = Effect.fnUntraced(function* (query: EventQuery) {
        const { type, resource_id } = query
        const relayers = yield* relayersOf(query)
        const filter: Filter = {
          ...(type === undefined ? {} : { type }),
          ...(resource_id === undefined ? {} : { resource_id }),
          ...(relayers === undefined ? {} : { relayers })
        }
        return filter
      })

      const newest = Effect.map(
        repo.last,
        Option.getOrElse(() => Position.start)
      )

      const begin = Effect.fnUntraced(function* ({ after, lastEventId }: EventQuery) {
        const id = lastEventId ?? after ?? 0
        if (id === 0) return Position.start
        if (id === "latest") return yield* newest
        const found = yield* repo.find(id)
        if (Option.isSome(found)) return found.value
        const last = Option.getOrUndefined(yield* pruned)
        if (last?.id === id) return last
        const message = last === undefined ? "is not the id of an event" : wasPruned(last)
        return yield* BadRequest.of([{ field: nameOf(lastEventId === undefined ? "after" : "lastEventId"), message }])
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

      const limitOf = ({ limit = defaultEvents }: EventQuery) => Math.min(Math.max(limit, 1), maxEvents)

      /** The events before a position, the newest first. `next` is the position before which older ones are. */
      const past = Effect.fn("EventFeed.past")(function* ({ before = "latest", ...query }: EventQuery) {
        const wrong = (["after", "lastEventId", "wait"] as const).filter((field) => query[field] !== undefined)
        const message = "cannot be combined with before"
        if (wrong.length > 0) return yield* BadRequest.of(wrong.map((field) => ({ field: nameOf(field), message })))
        const place = before === "latest" ? undefined : yield* repo.find(before)
        if (place !== undefined && Option.isNone(place)) {
          return yield* BadRequest.of([{ field: "before", message: "is not the id of a stored event" }])
        }
        const filter = yield* filterOf(query)
        const found = yield* repo.past({
          ...filter,
          before: Option.getOrUndefined(place ?? Option.none()),
          limit: limitOf(query)
        })
        const last = found.events.at(-1)
        const items = found.events.map(({ event }) => event)
        return last === undefined || !found.isFull ? { items } : { items, next: String(last.position.id) }
      })

      const following = Effect.fn("EventFeed.list")(function* (query: EventQuery) {
        const filter = yield* filterOf(query)
        const from = yield* begin(query)
        const limit = limitOf(query)
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

      const list = (query: EventQuery): Effect.Effect<Items<Event>, BadRequest> =>
        query.before === undefined ? following(query) : past(query)

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

      const follow = Effect.fnUntraced(function* (query: EventQuery) {
        if (query.before !== undefined) {
          return yield* BadRequest.of([{ field: "before", message: "is not possible for a stream" }])
        }
        const from = yield* begin(query)
        return open(yield* filterOf(query), from)
      })

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
