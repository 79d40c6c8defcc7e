// Inserts into the table `deliveries`. The modules in `notifications/delivery/` read it.
import { Effect } from "effect"
import { client, query } from "../../sql/Query.ts"
import { unnestRows } from "../../sql/Rows.ts"

export interface NewDelivery {
  readonly id: string
  readonly notification_id: string
  readonly event_id: number
  readonly lane: string
  readonly event: string
  readonly body: string
}

export const make = Effect.gen(function* () {
  const sql = yield* client

  /** Inserts the deliveries in their order. A delivery for a deleted notification is omitted. */
  const insert = (deliveries: ReadonlyArray<NewDelivery>) => {
    const rows = deliveries.map((delivery) => ({ ...delivery, event_id: String(delivery.event_id) }))
    return sql`
      INSERT INTO deliveries (id, notification_seq, event_id, lane, event, body)
      SELECT given.id, notifications.seq, event_id::bigint, lane, event, body
      FROM ${unnestRows(sql, rows)} JOIN notifications ON notifications.id = given.notification_id
      ORDER BY n`.pipe(Effect.asVoid, query("OutboxRepo.insert"))
  }

  /**
   * An expression: JSON of the notifications of relayers, by the relayer's number. They exist until the transaction ends.
   * Relayers without one are left out; null: none has one. Every write about transactions reads it, in the statement that appends
   * its events. The planner does not see the array in a subquery, so it keeps one plan. Otherwise it plans each execution, which
   * takes longer than the execution.
   */
  const notificationsOf = (relayers: ReadonlyArray<number>) => sql`(
    SELECT json_object_agg(held.relayer, held.notification)::text FROM (
      SELECT r.seq AS relayer, n.id AS notification FROM relayers r JOIN notifications n ON n.id = r.notification_id
      WHERE r.seq = ANY((SELECT ${relayers.map(String)}::bigint[])::bigint[]) ORDER BY n.id FOR KEY SHARE OF n
    ) held)`

  return { insert, notificationsOf }
})
