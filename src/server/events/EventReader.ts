// One reader of events: it reads from memory if the next events are in the buffer, otherwise from the table.
import { Effect } from "effect"
import type { EventBuffer } from "./EventBuffer.ts"
import type { Births, EventPage, Filter, PlacedEvent, Selection } from "./EventsRepo.ts"
import * as Position from "./Position.ts"

export interface Batch {
  readonly events: ReadonlyArray<PlacedEvent>
  readonly end: Position.Position
}

export interface EventReader<E> {
  /** Waits for the next events, at least one. Returns the same batch again until it is taken. May be interrupted. */
  readonly next: Effect.Effect<Batch, E>
  taken(batch: Batch): void
}

export interface Options<E> {
  /** Reads the table. */
  readonly page: (selection: Selection) => Effect.Effect<EventPage, E>
  readonly buffer: EventBuffer
  readonly filter: Filter
  readonly from: Position.Position
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

export const make = <E>({ page, buffer, filter, from, limit }: Options<E>): EventReader<E> => {
  let at = from

  const read = Effect.suspend((): Effect.Effect<Batch, E> => {
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
      return { events, end: !isFull && head !== undefined ? Position.latest(last, head) : last }
    })
  })

  const next: Effect.Effect<Batch, E> = Effect.gen(function* () {
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
