// Notifications: create, list, read.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { CreateNotification, Notification, NotificationId } from "../domain/Notification.ts"
import { PageQuery } from "../domain/Page.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, Debug, DecodeErrors, RateLimit } from "./Middleware.ts"

export class NotificationsApi extends HttpApiGroup.make("notifications")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: Json.body(CreateNotification),
      success: Envelope.of(Notification).pipe(HttpApiSchema.status(201)),
      error: [Errors.NotificationIdTakenError, ...Errors.withBody]
    }).annotateMerge(
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
    }).annotateMerge(OpenApi.annotations({ summary: "List notifications", description: "In creation order." })),
    HttpApiEndpoint.get("get", "/:notification_id", {
      params: Schema.Struct({ notification_id: NotificationId }),
      success: Envelope.of(Notification),
      error: [Errors.NotificationNotFoundError, ...Errors.any]
    }).annotateMerge(OpenApi.annotations({ summary: "Get a notification" }))
  )
  .middleware(Debug)
  .middleware(DecodeErrors)
  .middleware(RateLimit)
  .middleware(Authorization)
  .prefix("/api/v1/notifications")
  .annotateMerge(
    OpenApi.annotations({ title: "Notifications", description: "Where the service tells of a relayer's events." })
  ) {}
