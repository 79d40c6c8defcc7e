// Notifications: their signing keys are sealed and never leave.
import { Context, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import * as Caller from "../../domain/access/Caller.ts"
import { maxNamed, usedBy } from "../../domain/request/InUse.ts"
import {
  Notification,
  NotificationId,
  NotificationInUse,
  NotificationNotFound
} from "../../domain/notification/Notification.ts"
import type {
  CreateNotification,
  NotificationIdTaken,
  UpdateNotification
} from "../../domain/notification/Notification.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { Page, PageQuery } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { Outbound } from "../../outbound/Outbound.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Changes } from "../changes/Changes.ts"
import { Events } from "../events/Events.ts"
import { Secrets } from "../secrets/Secrets.ts"
import * as CommitSignal from "../lifecycle/CommitSignal.ts"
import { NotificationsRepo } from "./NotificationsRepo.ts"
import * as SigningKeys from "./SigningKeys.ts"

export class Notifications extends Context.Service<
  Notifications,
  {
    /** `BadRequest` where the URL leads where none may lead. */
    create(request: CreateNotification): Effect.Effect<Notification, NotificationIdTaken | BadRequest>
    list(query: PageQuery): Effect.Effect<Page<Notification>>
    get(id: NotificationId): Effect.Effect<Notification, NotificationNotFound>
    update(
      id: NotificationId,
      patch: UpdateNotification
    ): Effect.Effect<Notification, NotificationNotFound | BadRequest>
    /** By the service itself, in the running transaction, with an event. Nothing to do where it is paused. */
    pause(id: NotificationId): Effect.Effect<void>
    /** With its deliveries. `NotificationInUse` while relayers use it. */
    delete(id: NotificationId): Effect.Effect<void, NotificationNotFound | NotificationInUse>
  }
>()("effect-relayer/server/notifications/Notifications") {
  static readonly layerNoDeps = Layer.effect(
    Notifications,
    Effect.gen(function* () {
      const repo = yield* NotificationsRepo
      const secrets = yield* Secrets
      const outbound = yield* Outbound
      const changes = yield* Changes
      const events = yield* Events
      const due = yield* CommitSignal.make("deliveries")
      const random = yield* SecureRandom.SecureRandom
      const transaction = yield* Transaction.make

      const checkUrl = (url: string) => {
        const message = outbound.refuse(url)
        return message === undefined ? Effect.void : Effect.fail(BadRequest.of([{ field: "url", message }]))
      }

      const create = Effect.fn("Notifications.create")(function* (request: CreateNotification) {
        yield* checkUrl(request.url)
        const id = request.id ?? NotificationId.make(yield* random.uuidV4())
        const key = request.signing_key
        const sealed = key === undefined ? undefined : yield* SigningKeys.seal(secrets, id, key)
        const notification: Notification = {
          id,
          type: request.type,
          url: request.url,
          has_signing_key: key !== undefined,
          paused: false
        }
        yield* transaction(
          Effect.andThen(
            repo.insert(notification, sealed),
            changes.record({ action: "notification.created", id, schema: Notification, after: notification })
          )
        )
        yield* Effect.annotateLogs(Effect.logInfo("notification created"), { notification_id: id })
        return notification
      })

      const list = Effect.fn("Notifications.list")(function* (query: PageQuery) {
        return yield* repo.page(pageRequest(query), (yield* Caller.current).relayerIds)
      })

      const orNotFound = Option.match({
        onNone: () => Effect.fail(new NotificationNotFound({})),
        onSome: (notification: Notification) => Effect.succeed(notification)
      })

      /** For a caller that is limited to some relayers, only the notifications of these relayers exist. */
      const get = Effect.fn("Notifications.get")(function* (id: NotificationId) {
        const ids = (yield* Caller.current).relayerIds
        if (ids !== undefined && !(yield* repo.isUsedBy(id, ids))) return yield* new NotificationNotFound({})
        return yield* Effect.flatMap(repo.find(id), orNotFound)
      })

      /** Held until the transaction ends. */
      const hold = (id: NotificationId) => Effect.flatMap(repo.findForUpdate(id), orNotFound)

      const update = Effect.fn("Notifications.update")(function* (id: NotificationId, patch: UpdateNotification) {
        const before = yield* hold(id)
        if (patch.url !== undefined) yield* checkUrl(patch.url)
        const given = patch.signing_key
        const after: Notification = {
          id,
          type: patch.type ?? before.type,
          url: patch.url ?? before.url,
          has_signing_key: given === undefined ? before.has_signing_key : given !== "",
          paused: patch.paused ?? before.paused
        }
        yield* repo.update(after, yield* SigningKeys.replace(secrets, id, yield* repo.findKey(id), given))
        if (before.paused && !after.paused) yield* due.afterCommit
        yield* changes.record({ action: "notification.updated", id, schema: Notification, before, after })
        yield* Effect.annotateLogs(Effect.logInfo("notification updated"), { notification_id: id })
        return after
      }, transaction)

      const pause = Effect.fn("Notifications.pause")(function* (id: NotificationId) {
        const paused = yield* repo.pause(id)
        if (Option.isNone(paused)) return
        yield* events.emit({ type: "notification.paused", id, schema: Notification, data: paused.value })
        yield* Effect.annotateLogs(Effect.logWarning("notification paused"), { notification_id: id })
      })

      /**
       * Whoever changes a relayer holds the relayer, and then its notification, for the delivery: so do we, or each would
       * wait for the other.
       */
      const checkUnused = Effect.fnUntraced(function* (id: NotificationId) {
        const ids = yield* repo.users(id, maxNamed + 1)
        if (ids.length > 0) return yield* new NotificationInUse({ error: usedBy("relayers", ids) })
      })

      const remove = Effect.fn("Notifications.delete")(function* (id: NotificationId) {
        yield* checkUnused(id)
        const before = yield* hold(id)
        yield* repo.delete(id)
        yield* changes.record({ action: "notification.deleted", id, schema: Notification, before })
        yield* Effect.annotateLogs(Effect.logInfo("notification deleted"), { notification_id: id })
      }, transaction)

      /** Once more where a relayer has come to use it in between: then it is named. */
      const removeOrName: Notifications["Service"]["delete"] = (id) =>
        Effect.catchTag(remove(id), "NotificationInUse", (inUse) =>
          inUse.error === "" ? removeOrName(id) : Effect.fail(inUse)
        )

      return Notifications.of({ create, list, get, update, pause, delete: removeOrName })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(
    Layer.provide([NotificationsRepo.layer, Events.layer, SecureRandom.layerWebCrypto])
  )
}
