// A reader of events: from memory where what comes next is held there, else from the table.
import { Effect } from "effect"
import type { EventsRepo, Filter, PlacedEvent } from "./EventsRepo.ts"
import type { EventBuffer } from "./EventBuffer.ts"
import * as Position from "./Position.ts"

export interface Batch {
  readonly events: ReadonlyArray<PlacedEvent>
  readonly end: Position.Position
}

export interface EventReader {
  /** The next events, at least one, as soon as there are any; the same again until they are taken. May be interrupted. */
  readonly next: Effect.Effect<Batch>
  taken(batch: Batch): void
}

export interface Options {
  readonly repo: EventsRepo["Service"]
  readonly held: EventBuffer
  readonly filter: Filter
  readonly from: Position.Position
  /** Events of a batch. */
  readonly limit: number
}

/** As `EventsRepo.page` selects. */
const matches = ({ type, resource_id, relayerIds }: Filter, { event }: PlacedEvent): boolean =>
  (type === undefined || event.type === type) &&
  (resource_id === undefined || event.resource_id === resource_id) &&
  (relayerIds === undefined || (event.type.startsWith("relayer.") && relayerIds.includes(event.resource_id)))

export const make = ({ repo, held, filter, from, limit }: Options): EventReader => {
  let at = from

  const read = Effect.suspend((): Effect.Effect<Batch> => {
    const after = at
    const known = held.after(after, limit)
    if (known !== undefined) {
      const events = known.filter((placed) => matches(filter, placed))
      return Effect.succeed({ events, end: known.at(-1)?.position ?? after })
    }
    const head = held.head()
    return Effect.map(repo.page({ ...filter, after, limit }), (events) => {
      const last = events.at(-1)?.position ?? after
      // Less than a page: there was no more when `head` had already been seen.
      return { events, end: events.length < limit && head !== undefined ? Position.latest(last, head) : last }
    })
  })

  const next: Effect.Effect<Batch> = Effect.gen(function* () {
    while (true) {
      const batch = yield* read
      if (batch.events.length > 0) return batch
      at = batch.end
      yield* held.moved(at)
    }
  })

  return {
    next,
    taken: ({ end }) => {
      at = end
    }
  }
}
