// The table `events`.
import { Context, Effect, Layer } from "effect"
import { client, query } from "../../sql/Query.ts"

export interface NewRow {
  readonly type: string
  readonly resource_id: string
  readonly request_id: string | null
  /** JSON text. */
  readonly data: string
}

export class EventsRepo extends Context.Service<
  EventsRepo,
  {
    /** Its id. */
    append(event: NewRow): Effect.Effect<number>
  }
>()("effect-relayer/server/Events/EventsRepo") {
  static readonly layer = Layer.effect(
    EventsRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const append = ({ type, resource_id, request_id, data }: NewRow) =>
        sql<{ id: bigint }>`
          INSERT INTO events (type, resource_id, request_id, data)
          VALUES (${type}, ${resource_id}, ${request_id}, ${data}::text::json) RETURNING id`.pipe(
          Effect.map(([row]) => Number(row?.id)),
          query("EventsRepo.append")
        )
      return EventsRepo.of({ append })
    })
  )
}
