// The outbox: deliveries are written in the transaction of the event that they report.
import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import type { Statement } from "effect/sql"
import type { KnownEventType } from "../../domain/event/Event.ts"
import * as Webhook from "../../domain/notification/Webhook.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import { client, query } from "../../sql/Transaction.ts"
import { unnestRows } from "../../sql/Rows.ts"
import { commitSignalOf } from "../lifecycle/Lifecycle.ts"

// Inserts into the table `deliveries`. The modules in `notifications/delivery/` read it.

interface NewDelivery {
  readonly id: string
  readonly notification_id: string
  readonly event_id: number
  readonly lane: string
  readonly event: string
  readonly body: string
}

const makeOutboxRepo = Effect.gen(function* () {
  const sql = yield* client

  /** Inserts the deliveries that the query `given` names, in the order of its column `n`. A delivery for a deleted notification is omitted. */
  const insertFrom = (given: Statement.Fragment) => sql`
    INSERT INTO deliveries (id, notification_seq, event_id, lane, event, body)
    SELECT given.id, notifications.seq, event_id::bigint, lane, event, body
    FROM ${given} JOIN notifications ON notifications.id = given.notification_id
    ORDER BY n`

  /** Inserts the deliveries in their order. */
  const insert = (deliveries: ReadonlyArray<NewDelivery>) => {
    const rows = deliveries.map((delivery) => ({ ...delivery, event_id: String(delivery.event_id) }))
    return insertFrom(unnestRows(sql, rows)).pipe(Effect.asVoid, query("Outbox.insert"))
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

  return { insert, insertFrom, notificationsOf }
})

/** An event of a relayer, for the relayer's notification. */
interface RelayerEvent {
  readonly eventId: number
  readonly type: KnownEventType
  readonly relayer: Relayer
}

/** An event of a transaction, for the notification of its relayer. */
interface TransactionEvent {
  readonly eventId: number
  readonly type: KnownEventType
  readonly id: string
  readonly relayerNumber: number
  /** JSON text of the transaction. */
  readonly data: string
}

/** By number of the relayer. */
const decodeNotifications = Schema.decodeSync(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))

const makeOutbox = Effect.gen(function* () {
  const repo = yield* makeOutboxRepo
  const written = yield* commitSignalOf("deliveries")
  const random = yield* SecureRandom.SecureRandom

  const deliveriesOf = Effect.fnUntraced(function* ({ eventId, type, relayer }: RelayerEvent) {
    const { id: lane, notification_id } = relayer
    if (notification_id === undefined) return []
    const id = yield* random.uuidV7()
    const body = Webhook.relayerBody({ id, type, relayer, at: yield* DateTime.now })
    return [{ id, notification_id, event_id: eventId, lane, event: type, body } satisfies NewDelivery]
  })

  const insert = Effect.fnUntraced(function* (deliveries: ReadonlyArray<NewDelivery>) {
    if (deliveries.length === 0) return
    yield* repo.insert(deliveries)
    yield* written.afterCommit
  })

  /**
   * Part of the running transaction, which has to hold the relayers' rows: deliveries are sent in the order in which they
   * were put. Events of relayers without a notification are left out.
   */
  const putMany = Effect.fn("Outbox.putMany")(function* (events: ReadonlyArray<RelayerEvent>) {
    yield* insert((yield* Effect.forEach(events, deliveriesOf)).flat())
  })

  /** The id and the body of the delivery of an event about a transaction that is not written yet. */
  const deliveryOf = Effect.fnUntraced(function* ({ type, data }: Pick<TransactionEvent, "type" | "data">) {
    const id = yield* random.uuidV7()
    return { id, body: Webhook.transactionBody({ id, type, at: yield* DateTime.now, transaction: data }) }
  })

  /**
   * Part of the running transaction, which has to hold the rows of the transactions: deliveries about one of them are sent
   * in the order in which they were put, and do not wait for those about others. `notifications`: what `notificationsOf` reads.
   */
  const putTransactions = Effect.fn("Outbox.putTransactions")(function* (
    events: ReadonlyArray<TransactionEvent>,
    read: string | undefined
  ) {
    if (read === undefined) return
    const notifications = decodeNotifications(read)
    const deliveries = yield* Effect.forEach(events, ({ eventId, type, id: lane, relayerNumber, data }) =>
      Effect.gen(function* () {
        const notification_id = notifications[relayerNumber]
        if (notification_id === undefined) return []
        const delivery = yield* deliveryOf({ type, data })
        return [{ ...delivery, notification_id, event_id: eventId, lane, event: type } satisfies NewDelivery]
      })
    )
    yield* insert(deliveries.flat())
  })

  /**
   * A part of an SQL statement that writes changes: it inserts the deliveries that the query `given` names, with the columns of a delivery and `n`, their
   * order. After the commit, the caller raises the signal of the job `deliveries`.
   */
  const putting = repo.insertFrom

  return { putMany, notificationsOf: repo.notificationsOf, putTransactions, deliveryOf, putting }
})

export class Outbox extends Context.Service<Outbox, Effect.Success<typeof makeOutbox>>()(
  "effect-relayer/server/outbox/Outbox"
) {
  static readonly layer = Layer.effect(Outbox, makeOutbox).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
