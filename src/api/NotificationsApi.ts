// Notifications: their whole life, and their deliveries.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  Delivery,
  DeliveryId,
  DeliveryQuery,
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
import { PageQuery } from "../domain/request/Page.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, DecodeErrors, Idempotency, RequestBody } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

const params = Schema.Struct({ notification_id: NotificationId })
const deliveryParams = Schema.Struct({ notification_id: NotificationId, delivery_id: DeliveryId })

export class NotificationsApi extends HttpApiGroup.make("notifications")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: Json.body(CreateNotification),
      success: Envelope.created(Notification),
      error: [Errors.NotificationIdTakenError, ...Errors.any]
    })
      .middleware(Idempotency)
      .middleware(RequestBody)
      .annotate(RequiredScope, "notifications:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a notification",
          description:
            "The signing key is encrypted at rest and never returned: `has_signing_key` tells whether there is one."
        })
      ),
    HttpApiEndpoint.get("list", "/", {
      query: PageQuery,
      success: Envelope.pageOf(Notification),
      error: Errors.any
    })
      .annotate(RequiredScope, "notifications:read")
      .annotateMerge(OpenApi.annotations({ summary: "List notifications", description: "In creation order." })),
    HttpApiEndpoint.get("get", "/:notification_id", {
      params,
      success: Envelope.of(Notification),
      error: [Errors.NotificationNotFoundError, ...Errors.any]
    })
      .annotate(RequiredScope, "notifications:read")
      .annotateMerge(OpenApi.annotations({ summary: "Get a notification" })),
    HttpApiEndpoint.patch("update", "/:notification_id", {
      params,
      payload: Json.mergePatch(UpdateNotification),
      success: Envelope.of(Notification),
      error: [Errors.NotificationNotFoundError, ...Errors.any]
    })
      .middleware(RequestBody)
      .annotate(RequiredScope, "notifications:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change a notification",
          description:
            "What is absent or null stays. A new `signing_key` signs at once, and the one before signs beside it for 24 hours; an empty one removes both. `paused` stops deliveries; those of the last 24 hours follow when it is false again."
        })
      ),
    HttpApiEndpoint.delete("delete", "/:notification_id", {
      params,
      success: Envelope.of(Schema.Literal("Notification deleted successfully")),
      error: [Errors.NotificationNotFoundError, Errors.NotificationInUseError, ...Errors.any]
    })
      .annotate(RequiredScope, "notifications:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a notification",
          description: "With its deliveries. Refused while relayers use it."
        })
      ),
    HttpApiEndpoint.post("test", "/:notification_id/test", {
      params,
      success: Envelope.of(TestDelivery),
      error: [Errors.NotificationNotFoundError, ...Errors.ofOutboundWork, ...Errors.any]
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "notifications:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Send a test",
          description:
            "Sends a signed webhook of the event `test` now, once, also where the notification is paused, and answers with what came of it."
        })
      ),
    HttpApiEndpoint.get("deliveries", "/:notification_id/deliveries", {
      params,
      query: DeliveryQuery,
      success: Envelope.listOf(Delivery),
      error: [Errors.NotificationNotFoundError, ...Errors.any]
    })
      .annotate(RequiredScope, "notifications:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List deliveries",
          description:
            "Of the last 30 days, the latest first, with what was sent and what was answered. The `Link` header leads to the next page."
        })
      ),
    HttpApiEndpoint.post("retry", "/:notification_id/deliveries/:delivery_id/retry", {
      params: deliveryParams,
      success: Envelope.of(Delivery),
      error: [Errors.NotificationNotFoundError, Errors.DeliveryNotFoundError, ...Errors.any]
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "notifications:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Retry a delivery",
          description:
            "Now, under the same `webhook-id`. One that is pending goes on being tried; one that was delivered or given up gets one attempt."
        })
      ),
    HttpApiEndpoint.post("replay", "/:notification_id/replay", {
      params,
      payload: Json.body(ReplayDeliveries),
      success: Envelope.of(ReplayedDeliveries),
      error: [Errors.NotificationNotFoundError, ...Errors.any]
    })
      .middleware(Idempotency)
      .middleware(RequestBody)
      .annotate(RequiredScope, "notifications:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Replay deliveries",
          description:
            "Sends everything of a time again, at most 10,000 deliveries, in its order and under the same `webhook-id`s, as if it were new. What is pending anyway is not counted; tests are left out."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/notifications")
  .annotateMerge(
    OpenApi.annotations({ title: "Notifications", description: "Where the service tells of a relayer's events." })
  ) {}
