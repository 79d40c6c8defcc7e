// The newest events in memory: the end of the table, up to a bound, which readers of any pace look into.
import { Effect, Latch } from "effect"
import type { PlacedEvent } from "./EventsRepo.ts"
import { isAfter } from "./Position.ts"
import type { Position } from "./Position.ts"

/** Whoever is further behind reads the table. */
const bound = 500

export interface EventBuffer {
  /** Up to where events are known; undefined before the first look. */
  head(): Position | undefined
  /** The next ones, at most `limit`; undefined where some of them are not held. */
  after(position: Position, limit: number): ReadonlyArray<PlacedEvent> | undefined
  /** There are events after `position`, or the head has become known. */
  moved(position: Position): Effect.Effect<void>
  /** Nothing before is held. */
  begin(head: Position): Effect.Effect<void>
  /** The ones that come next after the head. */
  add(events: ReadonlyArray<PlacedEvent>): Effect.Effect<void>
}

export const make = (): EventBuffer => {
  const changed = Latch.makeUnsafe(false)
  let events: ReadonlyArray<PlacedEvent> = []
  /** Everything after it and up to `head` is in `events`. */
  let from: Position | undefined
  let head: Position | undefined

  return {
    head: () => head,
    after: (position, limit) => {
      if (from === undefined || isAfter(from, position)) return undefined
      const next = events.findLastIndex((held) => !isAfter(held.position, position)) + 1
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
        events = all.slice(-bound)
        from = all.at(-bound - 1)?.position ?? from
        return Effect.asVoid(changed.release)
      })
  }
}
