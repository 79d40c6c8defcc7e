// The events of the kit, in one order, as programs read them. A test has them come late, or twice.
import { Clock, Context, DateTime, Effect, Layer, Stream } from "effect"
import { defaultEvents, maxEvents, maxWait } from "../domain/event/Event.ts"
import type { Event, EventQuery, KnownEventType } from "../domain/event/Event.ts"
import type { Items } from "../domain/request/Page.ts"
import { BadRequest } from "../domain/request/Request.ts"
import type { Moment } from "../networks/core/TransactionValues.ts"
import { EventFeed } from "./Tags.ts"

interface Published {
  readonly event: Event
  /** When readers find it. */
  readonly visibleAt: Moment
  /** The relayer that the event is about, or whose transaction it is about. */
  readonly relayerId: string | undefined
}

interface NewEvent {
  readonly type: KnownEventType
  readonly id: string
  readonly relayerId?: string
  readonly data: unknown
}

const make = () => {
  const published: Array<Published> = []
  const waiting = new Set<() => void>()
  const faults = {
    /** Readers get each event twice, as after a connection that was lost. */
    areRepeated: false,
    /** Milliseconds from an event to its appearance in the feed. */
    delay: 0
  }

  const publish = ({ type, id, relayerId, data }: NewEvent, now: Moment): void => {
    const last = published.at(-1)
    // No event appears before an earlier one.
    const visibleAt = Math.max(now + faults.delay, last?.visibleAt ?? 0)
    const event: Event = { id: published.length + 1, type, resource_id: id, at: DateTime.makeUnsafe(now), data }
    published.push({ event, visibleAt, relayerId })
    const woken = [...waiting]
    // A reader that is woken may wait again at once.
    waiting.clear()
    for (const wake of woken) wake()
  }

  const change = Effect.callback<void>((resume) => {
    const wake = () => resume(Effect.void)
    waiting.add(wake)
    return Effect.sync(() => waiting.delete(wake))
  })

  /** Waits for the next event, or until one that exists appears. */
  const moved = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const next = published.find(({ visibleAt }) => visibleAt > now)
    yield* next === undefined
      ? change
      : Effect.timeoutOrElse(change, { duration: next.visibleAt - now, orElse: () => Effect.void })
  })

  return { published, faults, publish, moved }
}

/** What publishes events in the kit. */
export class Feed extends Context.Service<Feed, ReturnType<typeof make>>()("effect-relayer/testkit/Feed") {
  static readonly layer = Layer.sync(Feed, make)
}

const matches = ({ type, resource_id, relayer_id }: EventQuery, { event, relayerId }: Published): boolean =>
  (type === undefined || type.some((wanted) => wanted === event.type)) &&
  (resource_id === undefined || event.resource_id === resource_id) &&
  (relayer_id === undefined || relayerId === relayer_id)

const limitOf = ({ limit = defaultEvents }: EventQuery): number => Math.min(Math.max(limit, 1), maxEvents)

const makeReading = Effect.gen(function* () {
  const { published, faults, moved } = yield* Feed

  const visible = Effect.map(Clock.currentTimeMillis, (now) => published.filter(({ visibleAt }) => visibleAt <= now))

  const unknown = (field: string) => BadRequest.of([{ field, message: "is not the id of an event" }])

  const begin = Effect.fnUntraced(function* ({ after, lastEventId }: EventQuery) {
    const from = lastEventId ?? after ?? 0
    const events = yield* visible
    if (from === "latest") return events.at(-1)?.event.id ?? 0
    if (from > 0 && !events.some(({ event }) => event.id === from)) {
      return yield* unknown(lastEventId === undefined ? "after" : "last-event-id")
    }
    return from
  })

  /** Events after a position. With repetition, each comes twice. */
  const following = (query: EventQuery, from: number) =>
    Effect.map(visible, (events) =>
      events
        .filter((one) => one.event.id > from && matches(query, one))
        .slice(0, limitOf(query))
        .flatMap(({ event }) => (faults.areRepeated ? [event, event] : [event]))
    )

  const past = Effect.fnUntraced(function* (query: EventQuery) {
    const { before = "latest" } = query
    const events = yield* visible
    if (before !== "latest" && !events.some(({ event }) => event.id === before)) return yield* unknown("before")
    const older = events.filter((one) => (before === "latest" || one.event.id < before) && matches(query, one))
    const items = older
      .toReversed()
      .slice(0, limitOf(query))
      .map(({ event }) => event)
    const last = items.at(-1)
    const isWhole = items.length === older.length || last === undefined
    return isWhole ? { items } : { items, next: String(last.id) }
  })

  /** Waits for the first events after a position. */
  const awaited = Effect.fnUntraced(function* (query: EventQuery, from: number) {
    for (;;) {
      const found = yield* following(query, from)
      if (found.length > 0) return found
      yield* moved
    }
  })

  const list = Effect.fnUntraced(function* (query: EventQuery): Effect.fn.Return<Items<Event>, BadRequest> {
    if (query.before !== undefined) return yield* past(query)
    const from = yield* begin(query)
    const wait = Math.min(query.wait ?? 0, maxWait)
    const waited = wait === 0 ? following(query, from) : Effect.timeoutOption(awaited(query, from), wait * 1000)
    const found = yield* waited
    const items = Array.isArray(found) ? found : found._tag === "Some" ? found.value : []
    const id = items.at(-1)?.id ?? from
    return id === 0 ? { items } : { items, next: String(id) }
  })

  const stream = (query: EventQuery) =>
    Effect.map(begin(query), (from) =>
      Stream.unfold(from, (at) =>
        Effect.map(awaited(query, at), (events) => [events, events.at(-1)?.id ?? at] as const)
      ).pipe(Stream.flatMap((events) => Stream.fromIterable(events)))
    ).pipe(Stream.unwrap)

  return { list, stream }
})

/** The events of the kit, by the service of the package. */
export const layer = Layer.unwrap(Effect.map(makeReading, Layer.mock(EventFeed)))
