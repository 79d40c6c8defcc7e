// The table `notifications` as receivers of webhooks, and whether they are failing.
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import type { NotificationId } from "../../../domain/notification/Notification.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import { Receiver, columns } from "./Receiver.ts"

const readReceiver = Rows.first(Receiver)
const readFailing = Rows.all(Schema.Struct({ long: Schema.Boolean }))

export class ReceiversRepo extends Context.Service<
  ReceiversRepo,
  {
    find(id: NotificationId): Effect.Effect<Option.Option<Receiver>>
    /** Notes a success: the receiver is not failing. */
    recovered(id: NotificationId): Effect.Effect<void>
    /** Notes a failure, and locks the row. Returns whether all attempts of the last three days have failed. */
    failing(id: NotificationId): Effect.Effect<boolean>
  }
>()("effect-relayer/server/notifications/delivery/ReceiversRepo") {
  static readonly layer = Layer.effect(
    ReceiversRepo,
    Effect.gen(function* () {
      const sql = yield* client

      const find = (id: NotificationId) =>
        sql`SELECT ${columns(sql)} FROM notifications n WHERE n.id = ${id}`.pipe(
          Effect.flatMap(readReceiver),
          query("ReceiversRepo.find")
        )

      const recovered = (id: NotificationId) =>
        sql`UPDATE notifications SET failing_since = NULL WHERE id = ${id} AND failing_since IS NOT NULL`.pipe(
          Effect.asVoid,
          query("ReceiversRepo.recovered")
        )

      const failing = (id: NotificationId) =>
        sql`
          UPDATE notifications SET failing_since = coalesce(failing_since, clock_timestamp()) WHERE id = ${id}
          RETURNING failing_since <= clock_timestamp() - interval '3 days' AS long`.pipe(
          Effect.flatMap(readFailing),
          Effect.map((rows) => rows.some(({ long }) => long)),
          query("ReceiversRepo.failing")
        )

      return ReceiversRepo.of({ find, recovered, failing })
    })
  )
}
