// The table `notifications` as receivers of webhooks: where they are sent, the keys that sign them, and whether receivers are failing.
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { NotificationId } from "../../../domain/notification/Notification.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"

export const Receiver = Schema.Struct({
  notification_id: NotificationId,
  url: Schema.String,
  /** Sealed. Null if webhooks are not signed. */
  key: Schema.NullOr(Schema.Uint8Array),
  /** Sealed. The key before the last change signs as well for 24 hours. */
  previous_key: Schema.NullOr(Schema.Uint8Array)
})
export type Receiver = typeof Receiver.Type

/** The columns of `Receiver`, from the table `notifications` as `n`. */
export const columns = (sql: SqlClient.SqlClient) => sql`n.id AS notification_id, n.url, n.signing_key_sealed AS key,
  CASE WHEN n.previous_signing_key_expires_at > clock_timestamp() THEN n.previous_signing_key_sealed END AS previous_key`

const readReceiver = Rows.first(Receiver)
const readFailing = Rows.all(Schema.Struct({ long: Schema.Boolean }))

export const make = Effect.gen(function* () {
  const sql = yield* client

  const find = (id: NotificationId) =>
    sql`SELECT ${columns(sql)} FROM notifications n WHERE n.id = ${id}`.pipe(
      Effect.flatMap(readReceiver),
      query("ReceiversRepo.find")
    )

  /** Notes a success: the receiver is not failing. */
  const recovered = (id: NotificationId) =>
    sql`UPDATE notifications SET failing_since = NULL WHERE id = ${id} AND failing_since IS NOT NULL`.pipe(
      Effect.asVoid,
      query("ReceiversRepo.recovered")
    )

  /** Notes a failure, and locks the row. Returns whether all attempts of the last three days have failed. */
  const failing = (id: NotificationId) =>
    sql`
      UPDATE notifications SET failing_since = coalesce(failing_since, clock_timestamp()) WHERE id = ${id}
      RETURNING failing_since <= clock_timestamp() - interval '3 days' AS long`.pipe(
      Effect.flatMap(readFailing),
      Effect.map((rows) => rows.some(({ long }) => long)),
      query("ReceiversRepo.failing")
    )

  return { find, recovered, failing }
})
