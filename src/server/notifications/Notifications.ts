// The rules of notifications, with the version and the signing keys of each, for HTTP, host programs and other features.
import { Context, Effect, Equal, Layer, Option, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import * as Caller from "../../domain/access/Caller.ts"
import { isMasked } from "../../domain/chain/Rpc.ts"
import {
  CreateNotification,
  masked,
  Notification,
  NotificationId,
  NotificationInUse,
  NotificationNotFound,
  UpdateNotification
} from "../../domain/notification/Notification.ts"
import type { NotificationIdTaken } from "../../domain/notification/Notification.ts"
import { maxNamed, usedBy } from "../../domain/request/InUse.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { Page, PageQuery } from "../../domain/request/Page.ts"
import { BadRequest, checked, isCurrentVersion, PreconditionFailed } from "../../domain/request/Request.ts"
import type { Versioned } from "../../domain/request/Request.ts"
import type { Ids } from "../../sql/Rows.ts"
import { Changes } from "../changes/Changes.ts"
import { commitSignalOf } from "../lifecycle/Lifecycle.ts"
import { Outbound } from "../../outbound/Outbound.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Events } from "../events/Events.ts"
import { Secrets } from "../secrets/Secrets.ts"
import * as NotificationsRepo from "./NotificationsRepo.ts"
import type { ReplacedKeys, SealedKeys } from "./NotificationsRepo.ts"

// Signing keys at rest. Each is sealed together with the URL that it signs for.

type KeyColumn = "signing_key" | "previous_signing_key"

/** The notification and the URL of a signing key. */
export type KeyReceiver = Pick<Notification, "id" | "url">

const placeOfKey = ({ id, url }: KeyReceiver, column: KeyColumn) => ({
  table: "notifications",
  id,
  column,
  context: { url }
})

const sealSigningKey = (
  secrets: Secrets["Service"],
  receiver: KeyReceiver,
  key: Redacted.Redacted,
  column: KeyColumn = "signing_key"
) => secrets.seal(key, placeOfKey(receiver, column))

export const openSigningKey = (
  secrets: Secrets["Service"],
  receiver: KeyReceiver,
  sealed: Uint8Array,
  column: KeyColumn
) => secrets.open(sealed, placeOfKey(receiver, column))

interface ReceiverChange {
  readonly before: KeyReceiver
  readonly after: KeyReceiver
  readonly stored: SealedKeys
  readonly given: UpdateNotification["signing_key"]
}

/** The keys for the URL after the change. */
const movedKeys = Effect.fnUntraced(function* (secrets: Secrets["Service"], { before, after, stored }: ReceiverChange) {
  const reseal = (column: KeyColumn, sealed: Uint8Array | undefined) =>
    sealed === undefined
      ? Effect.undefined
      : Effect.flatMap(openSigningKey(secrets, before, sealed, column), (key) =>
          sealSigningKey(secrets, after, key, column)
        )
  const keys: ReplacedKeys = {
    current: yield* reseal("signing_key", stored.current),
    previous: yield* reseal("previous_signing_key", stored.previous),
    isRotated: false
  }
  return keys
}, Effect.orDie)

/**
 * The keys after a change of the key or the URL; `undefined` if they stay as they are. The same key again changes nothing, so
 * that a patch that is sent twice does not remove the previous key. A stored key that does not open can only be replaced.
 */
const replaceSigningKey = Effect.fnUntraced(function* (
  secrets: Secrets["Service"],
  change: ReceiverChange
): Effect.fn.Return<ReplacedKeys | undefined> {
  const { before, after, stored, given } = change
  if (given === "") {
    const hasKey = stored.current !== undefined || stored.previous !== undefined
    return hasKey ? { isRotated: false } : undefined
  }
  if (given !== undefined) {
    const sealed = stored.current
    const opened =
      sealed === undefined
        ? Option.none()
        : yield* Effect.option(openSigningKey(secrets, before, sealed, "signing_key"))
    const isSame = Option.isSome(opened) && Redacted.value(opened.value) === Redacted.value(given)
    if (!isSame) {
      const previous = Option.map(opened, (key) => sealSigningKey(secrets, after, key, "previous_signing_key"))
      return {
        current: yield* sealSigningKey(secrets, after, given),
        previous: Option.isNone(previous) ? undefined : yield* previous.value,
        isRotated: true
      }
    }
  }
  return before.url === after.url ? undefined : yield* movedKeys(secrets, change)
})

/** A URL may contain a secret. A caller needs it only if it may change the URL. */
const shownTo = (caller: Caller.Caller, notification: Notification): Notification =>
  Caller.hasScope(caller, "notifications:write") ? notification : masked(notification)

const checkCreate = checked(CreateNotification)
const checkUpdate = checked(UpdateNotification)

/** A notification with its signing key. */
export interface ConfiguredNotification {
  readonly notification: Notification
  /** None: there is none, or it cannot be opened. */
  readonly signingKey: Option.Option<Redacted.Redacted>
}

export class Notifications extends Context.Service<
  Notifications,
  {
    /** Fails with `BadRequest` if a field is invalid, or if the URL points to an address that is not allowed. */
    create(
      request: CreateNotification,
      options?: { readonly paused?: boolean }
    ): Effect.Effect<Versioned<Notification>, NotificationIdTaken | BadRequest>
    list(query: PageQuery): Effect.Effect<Page<Notification>>
    get(id: NotificationId): Effect.Effect<Versioned<Notification>, NotificationNotFound>
    /**
     * Fails with `BadRequest` as `create` does. Concurrent patches apply one after the other. `ifMatch` is an `If-Match` header:
     * fails with `PreconditionFailed` if it names another version.
     */
    update(
      id: NotificationId,
      patch: UpdateNotification,
      ifMatch?: string
    ): Effect.Effect<Versioned<Notification>, NotificationNotFound | BadRequest | PreconditionFailed>
    /**
     * Its deliveries are gone at once as well; the job `deliveries` deletes their rows. Fails with `NotificationInUse` while
     * relayers use it. `ifMatch` as for `update`.
     */
    delete(
      id: NotificationId,
      ifMatch?: string
    ): Effect.Effect<void, NotificationNotFound | NotificationInUse | PreconditionFailed>
    /**
     * The notifications with these ids, for configurations. `lock`: their rows are locked until the running transaction ends.
     *
     * @internal
     */
    configured(ids: Ids, lock: boolean): Effect.Effect<ReadonlyArray<ConfiguredNotification>>
    /**
     * Fails as `create` does for a URL that the service must not call.
     *
     * @internal
     */
    checkUrl(url: string): Effect.Effect<void, BadRequest>
    /** Pauses it in the running transaction and publishes that, unless it is paused already. */
    pause(id: NotificationId): Effect.Effect<void>
  }
>()("effect-relayer/server/notifications/Notifications") {
  /** @internal */
  static readonly layer = Layer.effect(
    Notifications,
    Effect.gen(function* () {
      const repo = yield* NotificationsRepo.make
      const secrets = yield* Secrets
      const outbound = yield* Outbound
      const changes = yield* Changes
      const events = yield* Events
      const due = yield* commitSignalOf("deliveries")
      const random = yield* SecureRandom.SecureRandom
      const transaction = yield* Transaction.make

      const checkUrl = (url: string) => {
        const message = isMasked(url) ? "is masked: send the URL itself" : outbound.refuse(url, true)
        return message === undefined ? Effect.void : Effect.fail(BadRequest.of([{ field: "url", message }]))
      }

      const warnOfHttp = ({ id, url }: Notification) =>
        url.startsWith("https:")
          ? Effect.void
          : Effect.annotateLogs(Effect.logWarning("webhooks are sent by http, without encryption"), {
              notification_id: id
            })

      const create = Effect.fn("Notifications.create")(function* (request: CreateNotification, paused: boolean) {
        yield* checkUrl(request.url)
        const id = NotificationId.make(request.id ?? (yield* random.uuidV7()))
        const key = request.signing_key
        const sealed = key === undefined ? undefined : yield* sealSigningKey(secrets, { id, url: request.url }, key)
        const notification: Notification = {
          id,
          type: request.type,
          url: request.url,
          has_signing_key: key !== undefined,
          paused
        }
        const created = yield* transaction(
          Effect.tap(repo.insert(notification, sealed), () =>
            changes.record({ action: "notification.created", id, schema: Notification, after: masked(notification) })
          )
        )
        yield* Effect.annotateLogs(Effect.logInfo("notification created"), { notification_id: id })
        yield* warnOfHttp(notification)
        return created
      })

      const list = Effect.fn("Notifications.list")(function* (query: PageQuery) {
        const caller = yield* Caller.current
        const page = yield* repo.page(pageRequest(query), caller.relayerIds)
        return { ...page, items: page.items.map((notification) => shownTo(caller, notification)) }
      })

      const orNotFound = Option.match({
        onNone: () => Effect.fail(new NotificationNotFound({})),
        onSome: (found: Versioned<Notification>) => Effect.succeed(found)
      })

      /** For a caller that is limited to some relayers, only the notifications of these relayers exist. */
      const get = Effect.fn("Notifications.get")(function* (id: NotificationId) {
        const caller = yield* Caller.current
        const ids = caller.relayerIds
        if (ids !== undefined && !(yield* repo.isUsedBy(id, ids))) return yield* new NotificationNotFound({})
        const { value, version } = yield* Effect.flatMap(repo.find(id), orNotFound)
        return { value: shownTo(caller, value), version }
      })

      const matching = (ifMatch: string | undefined, found: Versioned<Notification>) =>
        isCurrentVersion(ifMatch, found.version) ? Effect.succeed(found) : Effect.fail(new PreconditionFailed({}))

      /** Locks the row until the transaction ends. */
      const hold = Effect.fnUntraced(function* (id: NotificationId, ifMatch: string | undefined) {
        return yield* matching(ifMatch, yield* Effect.flatMap(repo.findForUpdate(id), orNotFound))
      })

      const update = Effect.fn("Notifications.update")(function* (
        id: NotificationId,
        patch: UpdateNotification,
        ifMatch?: string
      ) {
        const held = yield* hold(id, ifMatch)
        const before = held.value
        if (patch.url !== undefined) yield* checkUrl(patch.url)
        const given = patch.signing_key
        const after: Notification = {
          ...before,
          type: patch.type ?? before.type,
          url: patch.url ?? before.url,
          has_signing_key: given === undefined ? before.has_signing_key : given !== "",
          paused: patch.paused ?? before.paused
        }
        const stored = yield* repo.findKeys(id)
        const keys = yield* replaceSigningKey(secrets, { before, after, stored, given })
        // A patch without effect makes no version, no event and no audit record.
        if (keys === undefined && Equal.equals(before, after)) return held
        const updated = yield* repo.update(after, keys)
        if (before.paused && !after.paused) yield* due.afterCommit
        yield* changes.record({
          action: "notification.updated",
          id,
          schema: Notification,
          before: masked(before),
          after: masked(after)
        })
        yield* Effect.annotateLogs(Effect.logInfo("notification updated"), { notification_id: id })
        if (after.url !== before.url) yield* warnOfHttp(after)
        return updated
      }, transaction)

      const pause = Effect.fn("Notifications.pause")(function* (id: NotificationId) {
        const paused = yield* repo.pause(id)
        if (Option.isNone(paused)) return
        yield* events.emit({ type: "notification.paused", id, schema: Notification, data: masked(paused.value) })
        yield* Effect.annotateLogs(Effect.logWarning("notification paused"), { notification_id: id })
      })

      /**
       * A change of a relayer locks the relayer and then its notification, for the delivery. Deletion locks in the same
       * order: otherwise the two would wait for each other. So the condition is checked before, and again under the lock.
       */
      const checkUnused = Effect.fnUntraced(function* (id: NotificationId, ifMatch: string | undefined) {
        yield* matching(ifMatch, yield* Effect.flatMap(repo.find(id), orNotFound))
        const ids = yield* repo.users(id, maxNamed + 1)
        if (ids.length > 0)
          return yield* new NotificationInUse({ error: usedBy(yield* Caller.current, "relayers", ids) })
      })

      const remove = Effect.fn("Notifications.delete")(function* (id: NotificationId, ifMatch?: string) {
        yield* checkUnused(id, ifMatch)
        const { value: before } = yield* hold(id, ifMatch)
        yield* repo.delete(id)
        yield* changes.record({ action: "notification.deleted", id, schema: Notification, before: masked(before) })
        yield* Effect.annotateLogs(Effect.logInfo("notification deleted"), { notification_id: id })
      }, transaction)

      /** Tries again if a relayer has come to use the notification after the check, so that the error names the relayer. */
      const removeOrName: Notifications["Service"]["delete"] = (id, ifMatch) =>
        Effect.catchTag(remove(id, ifMatch), "NotificationInUse", (inUse) =>
          inUse.error === "" ? removeOrName(id, ifMatch) : Effect.fail(inUse)
        )

      const configured = Effect.fn("Notifications.configured")(function* (ids: Ids, lock: boolean) {
        const rows = yield* repo.findSealed(ids, lock)
        return yield* Effect.forEach(
          rows,
          Effect.fnUntraced(function* ({ sealed, ...notification }) {
            const signingKey =
              sealed === undefined
                ? Option.none()
                : yield* Effect.option(openSigningKey(secrets, notification, sealed, "signing_key"))
            return { notification, signingKey }
          })
        )
      })

      return Notifications.of({
        create: (request, { paused = false } = {}) =>
          Effect.flatMap(checkCreate(request), (request) => create(request, paused)),
        list,
        get,
        update: (id, patch, ifMatch) => Effect.flatMap(checkUpdate(patch), (patch) => update(id, patch, ifMatch)),
        delete: removeOrName,
        configured,
        checkUrl,
        pause
      })
    })
  ).pipe(Layer.provide([Events.layer, SecureRandom.layerWebCrypto]))
}
