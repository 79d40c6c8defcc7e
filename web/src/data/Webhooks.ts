// Receivers of webhooks, and the deliveries to them.
import { Effect } from "effect"
import type { Delivery, DeliveryStatistics, Notification, TestDelivery } from "../../../src/client/Client.ts"
import { DeliveryId, DeliveryQuery, ReplayDeliveries } from "../../../src/domain/notification/Delivery.ts"
import { NotificationId, UpdateNotification } from "../../../src/domain/notification/Notification.ts"
import { call, callById, once } from "./Client.ts"
import { bodyReader, pageOf, queryReader, versionOf } from "./Pages.ts"
import { queries, query } from "./Registry.ts"

export type { Delivery, DeliveryStatistics, Notification, TestDelivery }

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
  call(({ notifications }) => {
    const [id = "", parameters = ""] = key.split("?")
    return Effect.flatMap(readQuery(parameters), (query) =>
      pageOf(notifications.deliveries({ params: params(id), query, responseMode: "decoded-and-response" }))
    )
  })
)

/** Of the last hour, minute by minute, and what waits now. */
export const webhookStatistics = queries((id) =>
  callById(({ notifications }) =>
    Effect.map(notifications.statistics({ params: params(id), query: {} }), ({ data }) => data)
  )
)

export const testWebhook = (id: string) =>
  call(({ notifications }) => Effect.map(notifications.test({ params: params(id) }), ({ data }) => data))

export const retryDelivery = (id: string, delivery: string) =>
  call(({ notifications }) =>
    notifications.retry({ params: { ...params(id), delivery_id: DeliveryId.make(delivery) } })
  )

const readPatch = bodyReader(UpdateNotification)

export const changeWebhook = (id: string, patch: unknown, etag: string | undefined) =>
  call(({ notifications }) =>
    Effect.flatMap(readPatch(patch), (payload) =>
      notifications.update({ params: params(id), headers: etag === undefined ? {} : { "if-match": etag }, payload })
    )
  )

/** What is sent again: the deliveries of a period, as ISO 8601 texts. */
export interface Replayed {
  readonly since: string
  readonly until: string
  readonly state?: string
}

const readReplay = bodyReader(ReplayDeliveries)

/** How many deliveries are sent again, or would be. */
const replay = (id: string, body: Replayed & { readonly dry_run?: true }) =>
  call(({ notifications }) =>
    Effect.flatMap(readReplay(body), (payload) =>
      Effect.map(notifications.replay({ params: params(id), payload }), ({ data }) => data.replayed)
    )
  )

export const countReplayed = (id: string, replayed: Replayed) => replay(id, { ...replayed, dry_run: true })

/** `key` is the same for each try of one question, so that nothing is sent twice. */
export const replayDeliveries = (id: string, replayed: Replayed, key: string) => once(key, replay(id, replayed))
