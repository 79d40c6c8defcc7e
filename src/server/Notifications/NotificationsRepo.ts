// The table `notifications`.
import { Context, Effect, Layer } from "effect"
import type { Option } from "effect"
import { SqlSchema } from "effect/sql"
import { Notification, NotificationId, NotificationIdTaken } from "../../domain/Notification.ts"
import type { Page, PageRequest } from "../../domain/Page.ts"
import { client, onConflict, query } from "../../sql/Query.ts"
import { selectPage } from "../../sql/SelectPage.ts"

export class NotificationsRepo extends Context.Service<
  NotificationsRepo,
  {
    insert(
      notification: Notification,
      signingKeySealed: Uint8Array | undefined
    ): Effect.Effect<void, NotificationIdTaken>
    find(id: NotificationId): Effect.Effect<Option.Option<Notification>>
    page(request: PageRequest): Effect.Effect<Page<Notification>>
  }
>()("effect-relayer/server/Notifications/NotificationsRepo") {
  static readonly layer = Layer.effect(
    NotificationsRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const columns = sql`t.id, t.type, t.url, t.signing_key_sealed IS NOT NULL AS has_signing_key`

      const insert = (notification: Notification, signingKeySealed: Uint8Array | undefined) =>
        sql`INSERT INTO notifications ${sql.insert({
          id: notification.id,
          type: notification.type,
          url: notification.url,
          signing_key_sealed: signingKeySealed ?? null
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

      const selectRows = selectPage(sql, { table: "notifications", columns, Row: Notification })

      const page = (request: PageRequest) =>
        selectRows(request.perPage, request.offset).pipe(
          Effect.map((selected) => ({ ...selected, request })),
          query("NotificationsRepo.page")
        )

      return NotificationsRepo.of({ insert, find, page })
    })
  )
}
