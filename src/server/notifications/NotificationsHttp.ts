// The handlers of `NotificationsApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { unsigned } from "../../domain/notification/Notification.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import { Notifications } from "./Notifications.ts"
import { Deliveries } from "./delivery/Deliveries.ts"

export const NotificationsHttp = HttpApiBuilder.group(
  Api,
  "notifications",
  Effect.fnUntraced(function* (handlers) {
    const notifications = yield* Notifications
    const deliveries = yield* Deliveries
    return handlers.handleAll({
      create: ({ payload }) =>
        Respond.createdVersioned(notifications.create(payload), payload.signing_key === undefined ? [unsigned] : []),
      list: ({ query }) => Respond.page(notifications.list(query)),
      get: ({ params }) => Respond.versioned(notifications.get(params.notification_id)),
      update: ({ params, payload, headers }) =>
        Respond.versioned(notifications.update(params.notification_id, payload, headers["if-match"])),
      delete: ({ params, headers }) =>
        Respond.done(
          notifications.delete(params.notification_id, headers["if-match"]),
          "Notification deleted successfully"
        ),
      test: ({ params }) => Respond.one(deliveries.test(params.notification_id)),
      deliveries: ({ params, query }) => Respond.items(deliveries.list(params.notification_id, query)),
      statistics: ({ params, query }) => Respond.one(deliveries.statistics(params.notification_id, query)),
      delivery: ({ params }) => Respond.one(deliveries.get(params.notification_id, params.delivery_id)),
      retry: ({ params }) => Respond.one(deliveries.retry(params.notification_id, params.delivery_id)),
      replay: ({ params, payload }) => Respond.one(deliveries.replay(params.notification_id, payload))
    })
  })
).pipe(GroupServices.limitTo(Notifications, Deliveries))
