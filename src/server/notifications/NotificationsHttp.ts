// The handlers of `NotificationsApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as Respond from "../responses/Respond.ts"
import { Deliveries } from "./delivery/Deliveries.ts"
import { Notifications } from "./Notifications.ts"

export const NotificationsHttp = HttpApiBuilder.group(
  Api,
  "notifications",
  Effect.fnUntraced(function* (handlers) {
    const notifications = yield* Notifications
    const deliveries = yield* Deliveries
    return handlers.handleAll({
      create: ({ payload }) => Respond.created(notifications.create(payload)),
      list: ({ query }) => Respond.page(notifications.list(query)),
      get: ({ params }) => Respond.one(notifications.get(params.notification_id)),
      update: ({ params, payload }) => Respond.one(notifications.update(params.notification_id, payload)),
      delete: ({ params }) =>
        Respond.done(notifications.delete(params.notification_id), "Notification deleted successfully"),
      test: ({ params }) => Respond.one(deliveries.test(params.notification_id)),
      deliveries: ({ params, query }) => Respond.items(deliveries.list(params.notification_id, query)),
      retry: ({ params }) => Respond.one(deliveries.retry(params.notification_id, params.delivery_id)),
      replay: ({ params, payload }) => Respond.one(deliveries.replay(params.notification_id, payload))
    })
  })
)
