// The newest events in memory, up to a bound. Readers at any position share it.
import { Effect, Latch } from "effect"
import type { PlacedEvent } from "./EventsRepo.ts"
import { isAfter } from "./Position.ts"
import type { Position } from "./Position.ts"

/** Events in memory. A reader that is further behind reads the table. */
const maxEvents = 500

/** Bytes of the data of the events in memory. */
const maxBytes = 1_048_576

/** The index of the oldest event that may stay in memory. The newest one always does. */
const oldest = (events: ReadonlyArray<PlacedEvent>): number => {
  let bytes = 0
  let first = events.length
  while (first > 0 && events.length - first < maxEvents) {
    bytes += events[first - 1]?.bytes ?? 0
    if (bytes > maxBytes && first < events.length) break
    first -= 1
  }
  return first
}

export interface EventBuffer {
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

export const make = (): EventBuffer => {
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
        const first = oldest(all)
        events = all.slice(first)
        from = all[first - 1]?.position ?? from
        return Effect.asVoid(changed.release)
      })
  }
}
