// What a page keeps of events that arrive while it is open. Its size has limits, however many events there are.

interface Numbered {
  /** Position in the order of all events. */
  readonly id: number
}

export interface Tail<Event> {
  /** On the screen, the newest first. */
  readonly shown: ReadonlyArray<Event>
  /** Arrived while the tail is paused, the newest first. */
  readonly held: ReadonlyArray<Event>
  /** Events that arrived while the tail was paused and are not kept. */
  readonly dropped: number
  /** Events that were left out since the tail began, because they arrived too fast to be read. */
  readonly leftOut: number
}

export const empty: Tail<never> = { shown: [], held: [], dropped: 0, leftOut: 0 }

/** Milliseconds between two changes of the screen. */
export const frame = 250

/** Events a second that a person can still see. Above it, the screen has a sample. */
export const mostPerSecond = 50

const mostPerFrame = Math.ceil((mostPerSecond * frame) / 1_000)

/** Rows on the screen. */
const mostShown = 200

/** Events that are kept while the tail is paused. */
const mostHeld = 1_000

const newestFirst = (one: Numbered, other: Numbered): number => other.id - one.id

/** The newest first, each once: a list that was loaded again has events that have arrived before. */
const merged = <Event extends Numbered>(
  newer: ReadonlyArray<Event>,
  older: ReadonlyArray<Event>
): ReadonlyArray<Event> => {
  const sorted = newer.toSorted(newestFirst)
  const isAbove = (older[0]?.id ?? -1) < (sorted.at(-1)?.id ?? 0)
  if (isAbove) return [...sorted, ...older]
  const byId = new Map([...older, ...sorted].map((event) => [event.id, event]))
  return [...byId.values()].toSorted(newestFirst)
}

/** The tail after the events of one frame, which arrive the oldest first. */
export const arrived = <Event extends Numbered>(
  tail: Tail<Event>,
  events: ReadonlyArray<Event>,
  isPaused: boolean
): Tail<Event> => {
  if (isPaused) {
    const held = merged(events, tail.held)
    return {
      ...tail,
      held: held.slice(0, mostHeld),
      dropped: tail.dropped + Math.max(0, held.length - mostHeld)
    }
  }
  const sample = events.slice(-mostPerFrame)
  return {
    ...tail,
    shown: merged(sample, tail.shown).slice(0, mostShown),
    leftOut: tail.leftOut + events.length - sample.length
  }
}

/** Shows what has arrived meanwhile. */
export const resumed = <Event extends Numbered>({ shown, held, leftOut }: Tail<Event>): Tail<Event> => ({
  shown: merged(held, shown).slice(0, mostShown),
  held: [],
  dropped: 0,
  leftOut
})

/** The rows of a list that was loaded, below those that have arrived since. */
export const above = <Event extends Numbered>(
  { shown }: Tail<Event>,
  rows: ReadonlyArray<Event>
): ReadonlyArray<Event> => merged(shown, rows)
