// Inserts into the table `deliveries`. The modules in `notifications/delivery/` read it.
import { Context, Effect, Layer } from "effect"
import * as UnnestRows from "../../sql/batch/UnnestRows.ts"
import { client, query } from "../../sql/Query.ts"

export interface NewDelivery {
  readonly id: string
  readonly notification_id: string
  readonly event_id: number
  readonly lane: string
  readonly event: string
  readonly body: string
}

export class OutboxRepo extends Context.Service<
  OutboxRepo,
  {
    /** Inserts the deliveries in their order. A delivery for a notification that does not exist any more is left out. */
    insert(deliveries: ReadonlyArray<NewDelivery>): Effect.Effect<void>
  }
>()("effect-relayer/server/outbox/OutboxRepo") {
  static readonly layer = Layer.effect(
    OutboxRepo,
    Effect.gen(function* () {
      const sql = yield* client

      const insert = (deliveries: ReadonlyArray<NewDelivery>) => {
        const rows = deliveries.map((delivery) => ({ ...delivery, event_id: String(delivery.event_id) }))
        return sql`
          INSERT INTO deliveries (id, notification_seq, event_id, lane, event, body)
          SELECT given.id, notifications.seq, event_id::bigint, lane, event, body
          FROM ${UnnestRows.make(sql, rows)} JOIN notifications ON notifications.id = given.notification_id
          ORDER BY n`.pipe(Effect.asVoid, query("OutboxRepo.insert"))
      }

      return OutboxRepo.of({ insert })
    })
  )
}
