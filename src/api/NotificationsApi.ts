// Notifications: their whole life.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { CreateNotification, Notification, NotificationId, UpdateNotification } from "../domain/Notification.ts"
import { PageQuery } from "../domain/Page.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, Debug, DecodeErrors, Idempotency, RateLimit } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

const params = Schema.Struct({ notification_id: NotificationId })

export class NotificationsApi extends HttpApiGroup.make("notifications")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: Json.body(CreateNotification),
      success: Envelope.of(Notification).pipe(HttpApiSchema.status(201)),
      error: [Errors.NotificationIdTakenError, ...Errors.withBody]
    })
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
      error: [Errors.NotificationNotFoundError, ...Errors.withBody]
    })
      .annotate(RequiredScope, "notifications:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change a notification",
          description: "What is absent or null stays. A `signing_key` replaces the one before; an empty one removes it."
        })
      ),
    HttpApiEndpoint.delete("delete", "/:notification_id", {
      params,
      success: Envelope.of(Schema.Literal("Notification deleted successfully")),
      error: [Errors.NotificationNotFoundError, Errors.NotificationInUseError, ...Errors.any]
    })
      .annotate(RequiredScope, "notifications:write")
      .annotateMerge(
        OpenApi.annotations({ summary: "Delete a notification", description: "Refused while relayers use it." })
      )
  )
  .middleware(Debug)
  .middleware(DecodeErrors)
  .middleware(Idempotency)
  .middleware(RateLimit)
  .middleware(Authorization)
  .prefix("/api/v1/notifications")
  .annotateMerge(
    OpenApi.annotations({ title: "Notifications", description: "Where the service tells of a relayer's events." })
  ) {}
