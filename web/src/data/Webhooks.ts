// Receivers of webhooks, and the deliveries to them.
import { Effect } from "effect"
import type { Delivery, Notification } from "../../../src/client/Client.ts"
import { DeliveryId, DeliveryQuery } from "../../../src/domain/notification/Delivery.ts"
import { NotificationId } from "../../../src/domain/notification/Notification.ts"
import { call, callById } from "./Client.ts"
import { pageOf, queryReader, versionOf } from "./Pages.ts"
import { queries, query } from "./Registry.ts"

export type { Delivery, Notification }

const all = 1_000

const params = (id: string) => ({ notification_id: NotificationId.make(id) })

export const webhookList = query(
  call(({ notifications }) => Effect.map(notifications.list({ query: { page: 1, per_page: all } }), ({ data }) => data))
)

export const webhookById = queries((id) =>
  callById(({ notifications }) =>
    versionOf(notifications.get({ params: params(id), responseMode: "decoded-and-response" }))
  )
)

const readQuery = queryReader(DeliveryQuery)

/** Names a webhook and the filters of its deliveries, as the key of a query. */
export const deliveriesKey = (id: string, parameters: URLSearchParams): string => `${id}?${parameters.toString()}`

export const deliveryPage = queries((key) =>
  callById(({ notifications }) => {
    const [id = "", parameters = ""] = key.split("?")
    return Effect.flatMap(readQuery(parameters), (query) =>
      pageOf(notifications.deliveries({ params: params(id), query, responseMode: "decoded-and-response" }))
    )
  })
)

export const testWebhook = (id: string) =>
  call(({ notifications }) => Effect.map(notifications.test({ params: params(id) }), ({ data }) => data))

export const retryDelivery = (id: string, delivery: string) =>
  call(({ notifications }) =>
    notifications.retry({ params: { ...params(id), delivery_id: DeliveryId.make(delivery) } })
  )
