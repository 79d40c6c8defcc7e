// Notifications: their signing keys are sealed and never leave.
import { Context, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { NotificationId, NotificationNotFound } from "../../domain/Notification.ts"
import type { CreateNotification, Notification, NotificationIdTaken } from "../../domain/Notification.ts"
import { pageRequest } from "../../domain/Page.ts"
import type { Page, PageQuery } from "../../domain/Page.ts"
import { Secrets } from "../Secrets/Secrets.ts"
import { NotificationsRepo } from "./NotificationsRepo.ts"

export class Notifications extends Context.Service<
  Notifications,
  {
    create(request: CreateNotification): Effect.Effect<Notification, NotificationIdTaken>
    list(query: PageQuery): Effect.Effect<Page<Notification>>
    get(id: NotificationId): Effect.Effect<Notification, NotificationNotFound>
  }
>()("effect-relayer/server/Notifications/Notifications") {
  static readonly layerNoDeps = Layer.effect(
    Notifications,
    Effect.gen(function* () {
      const repo = yield* NotificationsRepo
      const secrets = yield* Secrets
      const random = yield* SecureRandom.SecureRandom

      const create = Effect.fn("Notifications.create")(function* (request: CreateNotification) {
        const id = request.id ?? NotificationId.make(yield* random.uuidV4())
        const key = request.signing_key
        const sealed =
          key === undefined
            ? undefined
            : yield* secrets.seal(key, { table: "notifications", id, column: "signing_key" })
        const notification: Notification = {
          id,
          type: request.type,
          url: request.url,
          has_signing_key: key !== undefined
        }
        yield* repo.insert(notification, sealed)
        yield* Effect.logInfo("notification created", { notification_id: id })
        return notification
      })

      const list = Effect.fn("Notifications.list")((query: PageQuery) => repo.page(pageRequest(query)))

      const get = Effect.fn("Notifications.get")((id: NotificationId) =>
        Effect.flatMap(
          repo.find(id),
          Option.match({ onNone: () => Effect.fail(new NotificationNotFound({})), onSome: Effect.succeed })
        )
      )

      return Notifications.of({ create, list, get })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide([NotificationsRepo.layer, SecureRandom.layerWebCrypto]))
}
