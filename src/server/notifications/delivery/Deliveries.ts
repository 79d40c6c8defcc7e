// Deliveries of a notification, for callers: list, retry, replay, test.
import { Clock, Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { NotificationNotFound } from "../../../domain/notification/Notification.ts"
import type { NotificationId } from "../../../domain/notification/Notification.ts"
import * as Webhook from "../../../domain/notification/Webhook.ts"
import { Audit } from "../../audit/Audit.ts"
import { Cursors } from "../../cursors/Cursors.ts"
import { Notifications } from "../Notifications.ts"
import * as DeliveriesRepo from "./DeliveriesRepo.ts"
import * as ReceiversRepo from "./ReceiversRepo.ts"
import * as WebhookClient from "./WebhookClient.ts"
import * as Caller from "../../../domain/access/Caller.ts"
import {
  DeliveryId,
  DeliveryNotFound,
  DeliveryOutcome,
  longestSeries,
  maxCountedDeliveries,
  maxReplayed,
  ReplayDeliveries,
  ReplayedDeliveries
} from "../../../domain/notification/Delivery.ts"
import type {
  Delivery,
  DeliveryQuery,
  DeliveryStatistics,
  TestDelivery
} from "../../../domain/notification/Delivery.ts"
import { filled, seriesOf } from "../../../domain/request/Page.ts"
import type { Items, SeriesQuery } from "../../../domain/request/Page.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import * as Transaction from "../../../sql/Transaction.ts"
import { commitSignalOf } from "../../lifecycle/Lifecycle.ts"
import { OutboundWork } from "../../limits/CallerLimits.ts"

const decodePlace = Schema.decodeUnknownEffect(Schema.Int)

const maxPerPage = 100

/** The records of the audit log. They contain nothing from the response of a receiver. */
const Tested = Schema.Struct({ delivery_id: DeliveryId, outcome: DeliveryOutcome })
const Retried = Schema.Struct({ delivery_id: DeliveryId })
const Replayed = Schema.Struct({ ...ReplayDeliveries.fields, ...ReplayedDeliveries.fields })

export class Deliveries extends Context.Service<
  Deliveries,
  {
    /** The latest delivery first. Fails with `BadRequest` if the cursor does not belong to this list. */
    list(
      notification: NotificationId,
      query: DeliveryQuery
    ): Effect.Effect<Items<Delivery>, NotificationNotFound | BadRequest>
    get(notification: NotificationId, id: DeliveryId): Effect.Effect<Delivery, NotificationNotFound | DeliveryNotFound>
    /** Deliveries to the receiver since a moment, and deliveries that wait. `BadRequest` if the series is too long. */
    statistics(
      notification: NotificationId,
      query: SeriesQuery
    ): Effect.Effect<DeliveryStatistics, NotificationNotFound | BadRequest>
    /**
     * Sends a delivery again, under the same id. If it is pending, its next attempt is due now, after the earlier deliveries of
     * its lane. Otherwise it gets a single attempt.
     */
    retry(
      notification: NotificationId,
      id: DeliveryId
    ): Effect.Effect<Delivery, NotificationNotFound | DeliveryNotFound>
    /** Sends all deliveries of a period again, as new ones with the same ids, or counts them. `BadRequest` if they are too many. */
    replay(
      notification: NotificationId,
      range: ReplayDeliveries
    ): Effect.Effect<ReplayedDeliveries, NotificationNotFound | BadRequest>
    /** Sends a test webhook once while the caller waits, also if the notification is paused. */
    test(notification: NotificationId): Effect.Effect<TestDelivery, NotificationNotFound | Caller.TooManyRequests>
  }
>()("effect-relayer/server/notifications/delivery/Deliveries") {
  /** @internal */
  static readonly layer = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const repo = yield* DeliveriesRepo.make
      const receivers = yield* ReceiversRepo.make
      const webhooks = yield* WebhookClient.make
      const notifications = yield* Notifications
      const cursors = yield* Cursors
      const audit = yield* Audit
      const outboundWork = yield* OutboundWork
      const due = yield* commitSignalOf("deliveries")
      const random = yield* SecureRandom.SecureRandom
      const transaction = yield* Transaction.make

      /** The deliveries that exist for the caller. */
      const of = Effect.fnUntraced(function* (notification: NotificationId) {
        yield* notifications.get(notification)
        return { notification, relayers: (yield* Caller.current).relayerIds }
      })

      const list = Effect.fn("Deliveries.list")(function* (
        notification: NotificationId,
        { limit, cursor, body: withBody = true, ...filter }: DeliveryQuery
      ) {
        const deliveries = yield* of(notification)
        const { state, type, relayer_id, event_id } = filter
        const list = JSON.stringify([
          "deliveries",
          notification,
          state,
          type,
          relayer_id,
          event_id,
          deliveries.relayers
        ])
        const after =
          cursor === undefined ? undefined : yield* Effect.orDie(decodePlace(yield* cursors.read(list, cursor)))
        const perPage = Math.min(limit ?? 20, maxPerPage)
        const found = yield* repo.select({ ...deliveries, filter, withBody, after, limit: perPage })
        const items = found.deliveries.map(({ delivery }) => delivery)
        const last = found.deliveries.at(-1)
        if (last === undefined || !found.isFull) return { items }
        return { items, next: yield* cursors.make(list, last.seq) }
      })

      const get = Effect.fn("Deliveries.get")(function* (notification: NotificationId, id: DeliveryId) {
        const delivery = yield* repo.find(yield* of(notification), id)
        return yield* Effect.mapError(Effect.fromOption(delivery), () => new DeliveryNotFound({}))
      })

      const statistics = Effect.fn("Deliveries.statistics")(function* (
        notification: NotificationId,
        query: SeriesQuery
      ) {
        const deliveries = yield* of(notification)
        const series = yield* seriesOf(query, yield* Clock.currentTimeMillis, longestSeries)
        const found = yield* repo.steps(deliveries, series, maxCountedDeliveries + 1)
        const counted = found.reduce((sum, { delivered, failed, pending }) => sum + delivered + failed + pending, 0)
        return {
          steps: filled(series, found, (row) => {
            const { at: _, ...step } = row ?? { at: 0, delivered: 0, failed: 0, pending: 0 }
            return step
          }),
          complete: counted <= maxCountedDeliveries,
          ...(yield* repo.waiting(deliveries, maxCountedDeliveries)),
          ...(deliveries.relayers === undefined ? yield* repo.failingSince(notification) : {})
        }
      })

      const retry = Effect.fn("Deliveries.retry")(function* (notification: NotificationId, id: DeliveryId) {
        const delivery = yield* repo.retry(yield* of(notification), id)
        if (Option.isNone(delivery)) return yield* new DeliveryNotFound({})
        yield* audit.record({
          action: "notification.delivery_retried",
          id: notification,
          schema: Retried,
          after: { delivery_id: id }
        })
        yield* due.afterCommit
        yield* Effect.annotateLogs(Effect.logInfo("delivery retried"), {
          notification_id: notification,
          delivery_id: id
        })
        return delivery.value
      }, transaction)

      const replay = Effect.fn("Deliveries.replay")(function* (
        notification: NotificationId,
        { dry_run = false, ...range }: ReplayDeliveries
      ) {
        const send = dry_run ? repo.countReplayed : repo.replay
        const replayed = yield* send(yield* of(notification), range, maxReplayed + 1)
        if (replayed > maxReplayed) {
          const message = `there are more than ${maxReplayed} deliveries: choose a shorter period`
          return yield* BadRequest.of([{ field: "until", message }])
        }
        if (dry_run) return { replayed }
        const after = { ...range, replayed }
        yield* audit.record({ action: "notification.deliveries_replayed", id: notification, schema: Replayed, after })
        yield* due.afterCommit
        yield* Effect.annotateLogs(Effect.logInfo("deliveries replayed"), { notification_id: notification, replayed })
        return { replayed }
      }, transaction)

      const test = Effect.fn("Deliveries.test")(function* (notificationId: NotificationId) {
        const receiver = yield* receivers.find(notificationId)
        if (Option.isNone(receiver)) return yield* new NotificationNotFound({})
        const at = yield* DateTime.now
        const id = DeliveryId.make(yield* random.uuidV7())
        const body = Webhook.testBody({ id, at, notificationId })
        const { retryAfter: _, ...attempt } = yield* outboundWork.run(
          webhooks.send({ id, event: "test", body }, receiver.value)
        )
        const sent: TestDelivery = { id, at, ...attempt }
        const after = { delivery_id: id, outcome: sent.outcome }
        yield* transaction(
          Effect.andThen(
            repo.insertTest(notificationId, body, sent),
            audit.record({ action: "notification.tested", id: notificationId, schema: Tested, after })
          )
        )
        return sent
      })

      return Deliveries.of({ list, get, statistics, retry, replay, test })
    })
  ).pipe(Layer.provide([Cursors.layer, SecureRandom.layerWebCrypto]))
}
