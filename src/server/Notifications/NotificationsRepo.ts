// The table `notifications`.
import { Context, Effect, Layer } from "effect"
import type { Option } from "effect"
import { SqlSchema } from "effect/sql"
import { Notification, NotificationId, NotificationIdTaken, NotificationInUse } from "../../domain/Notification.ts"
import type { Page, PageRequest } from "../../domain/Page.ts"
import { client, onConflict, onForeignKey, query } from "../../sql/Query.ts"
import { selectPage } from "../../sql/SelectPage.ts"

/** `undefined`: none. */
type SealedKey = Uint8Array | undefined

export class NotificationsRepo extends Context.Service<
  NotificationsRepo,
  {
    insert(notification: Notification, key: SealedKey): Effect.Effect<void, NotificationIdTaken>
    find(id: NotificationId): Effect.Effect<Option.Option<Notification>>
    /** Holds the row until the transaction ends. */
    findForUpdate(id: NotificationId): Effect.Effect<Option.Option<Notification>>
    /** `key` absent: as it is. */
    update(notification: Notification, key?: { readonly sealed: SealedKey }): Effect.Effect<void>
    delete(id: NotificationId): Effect.Effect<void, NotificationInUse>
    /** Ids of relayers that use it, at most `limit`. */
    users(id: NotificationId, limit: number): Effect.Effect<ReadonlyArray<string>>
    page(request: PageRequest): Effect.Effect<Page<Notification>>
  }
>()("effect-relayer/server/Notifications/NotificationsRepo") {
  static readonly layer = Layer.effect(
    NotificationsRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const columns = sql`t.id, t.type, t.url, t.signing_key_sealed IS NOT NULL AS has_signing_key`

      const insert = (notification: Notification, key: SealedKey) =>
        sql`INSERT INTO notifications ${sql.insert({
          id: notification.id,
          type: notification.type,
          url: notification.url,
          signing_key_sealed: key ?? null
        })}`.pipe(
          onConflict("notifications_pkey", () => new NotificationIdTaken({})),
          Effect.asVoid,
          query("NotificationsRepo.insert")
        )

      const findRow = SqlSchema.findOneOption({
        Request: NotificationId,
        Result: Notification,
        execute: (id) => sql`SELECT ${columns} FROM notifications t WHERE t.id = ${id}`
      })
      const find = (id: NotificationId) => findRow(id).pipe(query("NotificationsRepo.find"))

      const findRowForUpdate = SqlSchema.findOneOption({
        Request: NotificationId,
        Result: Notification,
        execute: (id) => sql`SELECT ${columns} FROM notifications t WHERE t.id = ${id} FOR UPDATE`
      })
      const findForUpdate = (id: NotificationId) => findRowForUpdate(id).pipe(query("NotificationsRepo.findForUpdate"))

      const update = ({ id, type, url }: Notification, key?: { readonly sealed: SealedKey }) =>
        sql`
          UPDATE notifications SET type = ${type}, url = ${url}
            ${key === undefined ? sql`` : sql`, signing_key_sealed = ${key.sealed ?? null}::bytea`}
          WHERE id = ${id}`.pipe(Effect.asVoid, query("NotificationsRepo.update"))

      const deleteRow = (id: NotificationId) =>
        sql`DELETE FROM notifications WHERE id = ${id}`.pipe(
          onForeignKey("relayers_notification_id_fkey", () => new NotificationInUse({ error: "" })),
          Effect.asVoid,
          query("NotificationsRepo.delete")
        )

      const users = (id: NotificationId, limit: number) =>
        sql<{ id: string }>`SELECT id FROM relayers WHERE notification_id = ${id} ORDER BY seq LIMIT ${limit}`.pipe(
          Effect.map((rows) => rows.map((row) => row.id)),
          query("NotificationsRepo.users")
        )

      const selectRows = selectPage(sql, { table: "notifications", columns, Row: Notification })

      const page = (request: PageRequest) =>
        selectRows(request).pipe(
          Effect.map(({ items, total }) => ({ items, total, request })),
          query("NotificationsRepo.page")
        )

      return NotificationsRepo.of({ insert, find, findForUpdate, update, delete: deleteRow, users, page })
    })
  )
}
