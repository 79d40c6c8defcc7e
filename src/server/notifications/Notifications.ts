// Notifications, for host programs and other features.
import { Context, Effect, Layer } from "effect"
import { CreateNotification, UpdateNotification } from "../../domain/notification/Notification.ts"
import type {
  Notification,
  NotificationId,
  NotificationIdTaken,
  NotificationInUse,
  NotificationNotFound
} from "../../domain/notification/Notification.ts"
import { checked } from "../../domain/request/Checked.ts"
import type { Page, PageQuery } from "../../domain/request/Page.ts"
import type { BadRequest } from "../../domain/request/Request.ts"
import type { Versioned } from "../../domain/request/Version.ts"
import { VersionedNotifications } from "./VersionedNotifications.ts"

const checkCreate = checked(CreateNotification)
const checkUpdate = checked(UpdateNotification)

export class Notifications extends Context.Service<
  Notifications,
  {
    /** Fails with `BadRequest` if a field is invalid, or if the URL points to an address that is not allowed. */
    create(request: CreateNotification): Effect.Effect<Notification, NotificationIdTaken | BadRequest>
    list(query: PageQuery): Effect.Effect<Page<Notification>>
    get(id: NotificationId): Effect.Effect<Notification, NotificationNotFound>
    /** Fails with `BadRequest` as `create` does. Concurrent patches apply one after the other. */
    update(
      id: NotificationId,
      patch: UpdateNotification
    ): Effect.Effect<Notification, NotificationNotFound | BadRequest>
    /** Its deliveries are gone at once as well; the job `deliveries` deletes their rows. Fails with `NotificationInUse` while relayers use it. */
    delete(id: NotificationId): Effect.Effect<void, NotificationNotFound | NotificationInUse>
    /** Pauses it in the running transaction and publishes that, unless it is paused already. */
    pause(id: NotificationId): Effect.Effect<void>
  }
>()("effect-relayer/server/notifications/Notifications") {
  /** @internal */
  static readonly layerNoDeps = Layer.effect(
    Notifications,
    Effect.gen(function* () {
      const versioned = yield* VersionedNotifications

      const valueOf = ({ value }: Versioned<Notification>) => value

      return Notifications.of({
        create: (request) => Effect.map(Effect.flatMap(checkCreate(request), versioned.create), valueOf),
        list: versioned.list,
        get: (id) => Effect.map(versioned.get(id), valueOf),
        // `PreconditionFailed` cannot occur without `ifMatch`.
        update: (id, patch) =>
          Effect.flatMap(checkUpdate(patch), (patch) => versioned.update(id, patch)).pipe(
            Effect.map(valueOf),
            Effect.catchTag("PreconditionFailed", Effect.die)
          ),
        delete: (id) => Effect.catchTag(versioned.delete(id), "PreconditionFailed", Effect.die),
        pause: versioned.pause
      })
    })
  )

  /** @internal */
  static readonly layer = this.layerNoDeps.pipe(Layer.provide(VersionedNotifications.layer))
}
