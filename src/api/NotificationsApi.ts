// The endpoints of events, of the notifications that receive them, and of their deliveries.
import { flow, Schema } from "effect"
import { Event, EventQuery } from "../domain/event/Event.ts"
import {
  Delivery,
  DeliveryId,
  DeliveryQuery,
  DeliveryStatistics,
  ReplayDeliveries,
  ReplayedDeliveries,
  TestDelivery
} from "../domain/notification/Delivery.ts"
import {
  CreateNotification,
  Notification,
  NotificationId,
  UpdateNotification
} from "../domain/notification/Notification.ts"
import { count, PageQuery, SeriesQuery } from "../domain/request/Page.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Idempotency, OutboundLimit, RequestBody } from "./Middleware.ts"

const params = Schema.Struct({ notification_id: NotificationId })
const deliveryParams = Schema.Struct({ notification_id: NotificationId, delivery_id: DeliveryId })

export class NotificationsApi extends Endpoint.group(
  "notifications",
  "/api/v1/notifications",
  {
    title: "Notifications",
    description: "Receivers of webhooks about relayers, and the deliveries to them."
  },
  Endpoint.post("create", "/", {
    scope: "notifications:write",
    summary: "Create a notification",
    description:
      "The signing key is encrypted at rest and never returned; `has_signing_key` says whether there is one.",
    through: [Idempotency, RequestBody],
    payload: Json.body(CreateNotification),
    success: Envelope.created(Notification),
    error: Errors.NotificationIdTakenError,
    transform: Endpoint.versioned
  }),
  Endpoint.get("list", "/", {
    scope: "notifications:read",
    summary: "List notifications",
    description: "In creation order.",
    query: PageQuery,
    success: Envelope.pageOf(Notification)
  }),
  Endpoint.get("get", "/:notification_id", {
    scope: "notifications:read",
    summary: "Get a notification",
    description: "The signing key is not returned.",
    params,
    success: Envelope.of(Notification),
    error: Errors.NotificationNotFoundError,
    transform: Endpoint.versioned
  }),
  Endpoint.patch("update", "/:notification_id", {
    scope: "notifications:write",
    summary: "Change a notification",
    description:
      "Fields that are absent or null stay. A new `signing_key` signs at once; for 24 hours, webhooks also carry a signature by the previous key. An empty `signing_key` removes both. `paused` stops deliveries; those of the last 24 hours are sent when it is false again.",
    through: [RequestBody],
    params,
    headers: Endpoint.ifMatch,
    payload: Json.mergePatch(UpdateNotification),
    success: Envelope.of(Notification),
    error: [Errors.NotificationNotFoundError, Errors.PreconditionFailedError],
    transform: Endpoint.versioned
  }),
  Endpoint.remove("delete", "/:notification_id", {
    scope: "notifications:write",
    summary: "Delete a notification",
    description: "Also deletes its deliveries. Refused while relayers use it.",
    params,
    headers: Endpoint.ifMatch,
    success: Envelope.deleted("Notification deleted successfully"),
    error: [Errors.NotificationNotFoundError, Errors.PreconditionFailedError, Errors.NotificationInUseError]
  }),
  Endpoint.post("test", "/:notification_id/test", {
    scope: "notifications:write",
    summary: "Send a test",
    description:
      "Sends one signed webhook of the event `test` now, even if the notification is paused, and returns the result.",
    through: [Idempotency, OutboundLimit],
    params,
    success: Envelope.of(TestDelivery),
    error: Errors.NotificationNotFoundError
  }),
  Endpoint.get("deliveries", "/:notification_id/deliveries", {
    scope: "notifications:read",
    summary: "List deliveries",
    description:
      "Deliveries of the last 30 days, newest first, each with its body and the responses of the receiver. The `Link` header leads to the next page.",
    params,
    query: DeliveryQuery,
    success: Envelope.listOf(Delivery),
    error: Errors.NotificationNotFoundError,
    transform: Endpoint.linked
  }),
  Endpoint.get("statistics", "/:notification_id/statistics", {
    scope: "notifications:read",
    summary: "Get statistics of deliveries",
    description:
      "Deliveries by steps of time, for at most 24 hours, and what waits now. Deliveries are counted at the time of their creation, and tests are left out. A key that is limited to relayers sees those about its relayers.",
    params,
    query: SeriesQuery,
    success: Envelope.of(DeliveryStatistics),
    error: Errors.NotificationNotFoundError
  }),
  Endpoint.get("delivery", "/:notification_id/deliveries/:delivery_id", {
    scope: "notifications:read",
    summary: "Get a delivery",
    description: "A delivery of the last 30 days, with its body and the responses of the receiver.",
    params: deliveryParams,
    success: Envelope.of(Delivery),
    error: [Errors.NotificationNotFoundError, Errors.DeliveryNotFoundError]
  }),
  Endpoint.post("retry", "/:notification_id/deliveries/:delivery_id/retry", {
    scope: "notifications:write",
    summary: "Retry a delivery",
    description:
      "Sends the delivery now, with the same `webhook-id`. A pending delivery keeps its schedule; a delivered or failed one gets one more attempt.",
    through: [Idempotency],
    params: deliveryParams,
    success: Envelope.of(Delivery),
    error: [Errors.NotificationNotFoundError, Errors.DeliveryNotFoundError]
  }),
  Endpoint.post("replay", "/:notification_id/replay", {
    scope: "notifications:write",
    summary: "Replay deliveries",
    description:
      "Sends the deliveries of a period again, at most 10,000, in their order and with the same `webhook-id`s. Pending deliveries are not counted, and tests are left out.",
    through: [Idempotency, RequestBody],
    params,
    payload: Json.body(ReplayDeliveries),
    success: Envelope.of(ReplayedDeliveries),
    error: Errors.NotificationNotFoundError
  })
) {}

// The endpoint of events: a list, or a stream of Server-Sent Events.

const stream = {
  description:
    "Server-Sent Events without end. Each event has its `id`, its type as `event`, and the event as in the list as `data`. A comment every 15 seconds keeps the connection alive.",
  example:
    'retry: 2000\n\nid: 7\nevent: relayer.paused\ndata: {"id":7,"type":"relayer.paused","resource_id":"payouts","at":"2026-01-02T03:04:05.678Z","data":{}}\n\n'
}

const resumption = Schema.Struct({
  "last-event-id": Schema.optionalKey(
    count("Like `after`, and takes precedence over it. `EventSource` sends it when it reconnects.", 42)
  )
})

export class EventsApi extends Endpoint.group(
  "events",
  "/api/v1/events",
  {
    title: "Events",
    description: "Facts that the service publishes about its resources, in one order."
  },
  Endpoint.get("list", "/", {
    scope: "events:read",
    summary: "List events, or follow them",
    description:
      "Events have one order, without gaps and without late insertions. A reader that continues after the last event, by the `Link` header or with `after`, gets each event once. A response holds up to `limit` events, and ends at about 1 MiB. There is always a next page, which may be empty: `wait` waits for its first event. With `Accept: text/event-stream`, the response is an endless stream of Server-Sent Events: first the past events, then each new event. Reconnect with `Last-Event-ID`, as `EventSource` does. Old events are deleted: a reader that continues from one of them gets 400, which names the oldest position to continue from. The service closes a stream whose reader takes no events for 30 seconds. An API key may have 20 streams open on an instance; the next one gets 429. With `before`, a response has the past, the newest event first: `before=latest` has the newest events, and the `Link` header leads to older ones until there are none. An API key that is limited to some relayers gets only events about these relayers and their transactions.",
    query: EventQuery,
    headers: resumption,
    success: Envelope.listOf(Event),
    transform: flow(Endpoint.linked, Endpoint.streamed(stream))
  })
) {}
