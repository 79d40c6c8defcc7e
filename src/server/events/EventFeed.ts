// Reads events in pages or as they are published. All readers see the same order, and no event ever appears before an event
// that a reader has seen.
import { Context, Duration, Effect, Latch, Layer, Option, RcRef, Stream } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as Caller from "../../domain/access/Caller.ts"
import { defaultEvents, maxEvents, maxWait } from "../../domain/event/Event.ts"
import type { Event, EventQuery } from "../../domain/event/Event.ts"
import type { Items } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { canListen, listen } from "../../sql/Session.ts"
import { Draining, Jobs } from "../lifecycle/Lifecycle.ts"
import { channel, firstPosition, isAfter, latestPosition, make, makeEventRetentionRepo } from "./Events.ts"
import type { Births, EventPage, Filter, NewEvents, PlacedEvent, Position, Selection } from "./Events.ts"

// The newest events in memory, up to a bound. Readers at any position share it.

/** Events in memory. A reader that is further behind reads the table. */
const maxBufferedEvents = 500

/** Bytes of the data of the events in memory. */
const maxBufferedBytes = 1_048_576

/** The index of the oldest event that may stay in memory. The newest one always does. */
const oldestKept = (events: ReadonlyArray<PlacedEvent>): number => {
  let bytes = 0
  let first = events.length
  while (first > 0 && events.length - first < maxBufferedEvents) {
    bytes += events[first - 1]?.bytes ?? 0
    if (bytes > maxBufferedBytes && first < events.length) break
    first -= 1
  }
  return first
}

interface EventBuffer {
  /** The position up to which events are known; `undefined` before the first read of the table. */
  head(): Position | undefined
  /** The next events, at most `limit`; `undefined` if some of them are not in the buffer. */
  after(position: Position, limit: number): ReadonlyArray<PlacedEvent> | undefined
  /** Waits until there are events after `position`, or until the head becomes known. */
  moved(position: Position): Effect.Effect<void>
  /** The buffer holds no event up to `head`. */
  begin(head: Position): Effect.Effect<void>
  /** Adds the events that follow the head. */
  add(events: ReadonlyArray<PlacedEvent>): Effect.Effect<void>
}

const makeEventBuffer = (): EventBuffer => {
  const changed = Latch.makeUnsafe(false)
  let events: ReadonlyArray<PlacedEvent> = []
  /** All events after it and up to `head` are in `events`. */
  let from: Position | undefined
  let head: Position | undefined

  return {
    head: () => head,
    after: (position, limit) => {
      if (from === undefined || isAfter(from, position)) return undefined
      const next = events.findLastIndex((buffered) => !isAfter(buffered.position, position)) + 1
      return events.slice(next, next + limit)
    },
    moved: (position) =>
      Effect.suspend(() => (head !== undefined && isAfter(head, position) ? Effect.void : changed.await)),
    begin: (position) =>
      Effect.suspend(() => {
        from = head = position
        return Effect.asVoid(changed.release)
      }),
    add: (added) =>
      Effect.suspend(() => {
        const last = added.at(-1)
        if (last === undefined) return Effect.void
        head = last.position
        const all = [...events, ...added]
        const first = oldestKept(all)
        events = all.slice(first)
        from = all[first - 1]?.position ?? from
        return Effect.asVoid(changed.release)
      })
  }
}

// One reader of events: it reads from memory if the next events are in the buffer, otherwise from the table.

export interface EventBatch {
  readonly events: ReadonlyArray<PlacedEvent>
  readonly end: Position
}

export interface EventReader<E> {
  /** Waits for the next events, at least one. Returns the same batch again until it is taken. May be interrupted. */
  readonly next: Effect.Effect<EventBatch, E>
  taken(batch: EventBatch): void
}

interface EventReaderOptions<E> {
  /** Reads the table. */
  readonly page: (selection: Selection) => Effect.Effect<EventPage, E>
  readonly buffer: EventBuffer
  readonly filter: Filter
  readonly from: Position
  /** Events of a batch. */
  readonly limit: number
}

/** Whether the event is about one of these relayers or about a transaction of one of them. */
const isOf = (relayers: Births, { event, relayerId }: PlacedEvent): boolean => {
  if (relayerId === undefined && !event.type.startsWith("relayer.")) return false
  const born = relayers.get(relayerId ?? event.resource_id)
  return born !== undefined && event.id >= born
}

/** Selects the same events as `EventsRepo.page`. */
const matches = ({ type, resource_id, relayers }: Filter, placed: PlacedEvent): boolean =>
  (type === undefined || type.some((wanted) => wanted === placed.event.type)) &&
  (resource_id === undefined || placed.event.resource_id === resource_id) &&
  (relayers === undefined || isOf(relayers, placed))

const makeEventReader = <E>({ page, buffer, filter, from, limit }: EventReaderOptions<E>): EventReader<E> => {
  let at = from

  const read = Effect.suspend((): Effect.Effect<EventBatch, E> => {
    const after = at
    const buffered = buffer.after(after, limit)
    if (buffered !== undefined) {
      const events = buffered.filter((placed) => matches(filter, placed))
      return Effect.succeed({ events, end: buffered.at(-1)?.position ?? after })
    }
    const head = buffer.head()
    return Effect.map(page({ ...filter, after, limit }), ({ events, isFull }) => {
      const last = events.at(-1)?.position ?? after
      // Not full: the table had no further events up to `head`, which was known before the query.
      return { events, end: !isFull && head !== undefined ? latestPosition(last, head) : last }
    })
  })

  const next: Effect.Effect<EventBatch, E> = Effect.gen(function* () {
    while (true) {
      const batch = yield* read
      if (batch.events.length > 0) return batch
      at = batch.end
      yield* buffer.moved(at)
    }
  })

  return {
    next,
    taken: ({ end }) => {
      at = end
    }
  }
}

// Reads new events once for all readers of this instance, as long as there are readers.

/** Events of one query. */
const tailBatch = 200

/** Without a notification, the table is read again after this time: a notification may be lost. */
const pollEvery = Duration.seconds(5)

/** The same if the database client of a host program cannot listen. */
const pollEveryDeaf = Duration.seconds(1)

/** The same if events wait for an older transaction: its end sends no notification if it published no event. */
const pollEveryHeldBack = Duration.millis(100)

/** A reader that reconnects within this time continues from memory. */
const idleTimeToLive = "30 seconds"

const makeEventTail = Effect.gen(function* () {
  const repo = yield* make
  const jobs = yield* Jobs
  const sql = yield* SqlClient.SqlClient
  const poll = canListen(sql) ? pollEvery : pollEveryDeaf

  const begin = Effect.map(
    repo.last,
    Option.getOrElse(() => firstPosition)
  )

  /** Reads all events that can be read now. Returns the time after which there may be more without a notification. */
  const readNew = Effect.fnUntraced(function* (buffer: EventBuffer) {
    let head = buffer.head() ?? (yield* begin)
    if (buffer.head() === undefined) yield* buffer.begin(head)
    let found: NewEvents
    do {
      found = yield* repo.tail(head, tailBatch)
      yield* buffer.add(found.events)
      head = found.events.at(-1)?.position ?? head
    } while (found.isFull)
    return found.isHeldBack ? pollEveryHeldBack : poll
  })

  const follow = Effect.gen(function* () {
    const buffer = makeEventBuffer()
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
  /** The newest events. The buffer grows until the scope closes. */
  const open = RcRef.get(shared)
  return { open }
})

class EventTail extends Context.Service<EventTail, Effect.Success<typeof makeEventTail>>()(
  "effect-relayer/server/events/EventFeed/EventTail"
) {
  static readonly layer = Layer.effect(EventTail, makeEventTail)
}

// Waits for events about single resources: one reader of the buffer wakes those that wait for the resource of an event, so that it costs
// nothing how many others wait.

/** By the id of a resource. */
type Watched = Map<string, Set<Latch.Latch>>

/** The end of the feed, as soon as it is known. */
const headOf = (buffer: EventBuffer): Effect.Effect<Position> =>
  Effect.suspend(() => {
    const head = buffer.head()
    return head === undefined ? Effect.flatMap(buffer.moved(firstPosition), () => headOf(buffer)) : Effect.succeed(head)
  })

/** Runs until the scope closes. */
const makeWatching = Effect.fnUntraced(function* ({ open }: EventTail["Service"]) {
  const buffer = yield* open
  const watched: Watched = new Map()
  let at = yield* headOf(buffer)

  const step = Effect.gen(function* () {
    yield* buffer.moved(at)
    const head = buffer.head() ?? at
    const found = buffer.after(at, maxBufferedEvents)
    at = found?.at(-1)?.position ?? head
    // Events that are no longer in the buffer can be about each of them.
    const ids = found === undefined ? watched.keys() : new Set(found.map(({ event }) => event.resource_id))
    for (const id of ids) for (const latch of watched.get(id) ?? []) latch.openUnsafe()
  })

  yield* Effect.forkScoped(Effect.forever(step))
  return watched
})

/** Registers a waiter until the scope closes. */
const watch = (watched: Watched, id: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const latch = Latch.makeUnsafe(false)
      watched.set(id, (watched.get(id) ?? new Set()).add(latch))
      return latch
    }),
    (latch) =>
      Effect.sync(() => {
        const latches = watched.get(id)
        latches?.delete(latch)
        if (latches?.size === 0) watched.delete(id)
      })
  )

/** A reader must not take a gap in the events for quiet. */
const wasPruned = ({ id }: Position) =>
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
    follow(query: EventQuery): Effect.Effect<Effect.Effect<EventReader<BadRequest>, never, Scope.Scope>, BadRequest>
    /**
     * The returned effect ends when there was an event about the resource since the call, or since its last end. A caller that reads
     * the resource after the call, and again after each end, misses no change.
     */
    changesOf(resourceId: string): Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
    /** The same as a stream, for host programs. To continue later, start after the `id` of the last event. */
    stream(query: EventQuery): Stream.Stream<Event, BadRequest>
  }
>()("effect-relayer/server/events/EventFeed") {
  /** @internal */
  static readonly layer = Layer.effect(
    EventFeed,
    Effect.gen(function* () {
      const repo = yield* make
      const { pruned } = yield* makeEventRetentionRepo
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
        Option.getOrElse(() => firstPosition)
      )

      const begin = Effect.fnUntraced(function* ({ after, lastEventId }: EventQuery) {
        const id = lastEventId ?? after ?? 0
        if (id === 0) return firstPosition
        if (id === "latest") return yield* newest
        const found = yield* repo.find(id)
        if (Option.isSome(found)) return found.value
        const last = Option.getOrUndefined(yield* pruned)
        if (last?.id === id) return last
        const message = last === undefined ? "is not the id of an event" : wasPruned(last)
        return yield* BadRequest.of([{ field: nameOf(lastEventId === undefined ? "after" : "lastEventId"), message }])
      })

      /** A page of the table that was read after `after`. Asked afterwards, because events may be deleted meanwhile. */
      const withoutGap = Effect.fnUntraced(function* (after: Position, found: EventPage) {
        if (after === firstPosition) return found
        const last = Option.getOrUndefined(yield* pruned)
        if (last === undefined || !isAfter(last, after)) return found
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
          const { next } = makeEventReader({ page, buffer: yield* tail.open, filter, from, limit })
          const waited = yield* Effect.timeoutOption(Effect.raceFirst(next, draining.begun), wait * 1000)
          found = Option.getOrUndefined(waited)?.events ?? []
        }
        const id = found.at(-1)?.position.id ?? from.id
        const items = found.map(({ event }) => event)
        return id === 0 ? { items } : { items, next: String(id) }
      }, Effect.scoped)

      const list = (query: EventQuery): Effect.Effect<Items<Event>, BadRequest> =>
        query.before === undefined ? following(query) : past(query)

      const open = Effect.fnUntraced(function* (filter: Filter, from: Position) {
        const reading = yield* jobs.supervise({ job: "events", task: "read" })
        return makeEventReader({
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

      const watching = yield* RcRef.make({ acquire: makeWatching(tail), idleTimeToLive })

      const changesOf = Effect.fnUntraced(function* (resourceId: string) {
        const latch = yield* watch(yield* RcRef.get(watching), resourceId)
        return Effect.andThen(latch.await, latch.close)
      })

      return EventFeed.of({ list, follow, changesOf, stream })
    })
  ).pipe(Layer.provide(EventTail.layer))
}
