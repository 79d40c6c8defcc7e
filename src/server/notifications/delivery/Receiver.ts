// A notification as the receiver of webhooks: where they are sent, and the keys that sign them.
import { Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { NotificationId } from "../../../domain/notification/Notification.ts"

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
