// For tests of deliveries: only the services that send webhooks, and ways to wait.
import { PgClient } from "@effect/sql-pg"
import { DateTime, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import type { KnownEventType } from "../../../../src/domain/event/Event.ts"
import { CreateNotification } from "../../../../src/domain/notification/Notification.ts"
import type { NotificationId } from "../../../../src/domain/notification/Notification.ts"
import { Changes } from "../../../../src/server/changes/Changes.ts"
import type { Delivery } from "../../../../src/domain/notification/Delivery.ts"
import { Relayer } from "../../../../src/domain/relayer/Relayer.ts"
import * as Lifecycle from "../../../../src/server/lifecycle/Lifecycle.ts"
import { commitSignalOf } from "../../../../src/server/lifecycle/Lifecycle.ts"
import { Audit } from "../../../../src/server/audit/Audit.ts"
import { layerMasterKeyCheck } from "../../../../src/server/masterKey/MasterKeys.ts"
import { Notifications } from "../../../../src/server/notifications/Notifications.ts"
import { Deliveries } from "../../../../src/server/notifications/delivery/Deliveries.ts"
import * as DeliveryJob from "../../../../src/server/notifications/delivery/DeliveryJob.ts"
import { makeAllowList, Outbound } from "../../../../src/outbound/Outbound.ts"
import type { Options } from "../../../../src/outbound/Outbound.ts"
import { OutboundWork } from "../../../../src/server/limits/RateLimits.ts"
import { RowMacs, Secrets } from "../../../../src/server/secrets/Secrets.ts"
import { awaited } from "../../../../testkit/Awaited.ts"
import { evmRelayer } from "../../../../testkit/fixtures.ts"
import { clientConfig } from "../../../../testkit/Postgres.ts"
import { masterKey } from "../../../../testkit/TestApi.ts"
import * as TestDatabase from "../../../../testkit/TestDatabase.ts"

export const signingKey = "0123456789abcdef0123456789abcdef"

/** One instance. Without `job` it sends nothing. */
export const instance = ({
  job = true,
  resolve
}: { readonly job?: boolean; readonly resolve?: Options["resolve"] } = {}) =>
  (job ? DeliveryJob.layer : Layer.empty).pipe(
    Layer.provideMerge(Deliveries.layer),
    Layer.provideMerge(Notifications.layer),
    Layer.provideMerge(Changes.layer),
    Layer.provideMerge(Layer.merge(Audit.layer, OutboundWork.layer)),
    Layer.provideMerge(Lifecycle.layer),
    Layer.provideMerge(layerMasterKeyCheck),
    Layer.provideMerge(RowMacs.layer),
    Layer.provideMerge(Secrets.layer({ current: Redacted.make(masterKey), others: [] })),
    Layer.provideMerge(
      Outbound.layer({ allow: makeAllowList(["127.0.0.0/8"]), ...(resolve === undefined ? {} : { resolve }) })
    )
  )

/** One instance on its own database. */
export const layer = (options: Parameters<typeof instance>[0] = {}) =>
  Layer.provideMerge(instance(options), TestDatabase.layer)

/** Separate connections to a database. */
export const connection = (database: string) => Layer.fresh(PgClient.layer(clientConfig(inject("postgres"), database)))

export const create = (url: string, signing_key: string | undefined = signingKey) =>
  Effect.flatMap(Notifications, (notifications) =>
    notifications.create(Schema.decodeSync(CreateNotification)({ url, ...(signing_key === "" ? {} : { signing_key }) }))
  ).pipe(Effect.map(({ value }) => value))

export const relayer = (notification_id: NotificationId, id = "relayer-1", changes: object = {}): Relayer =>
  Schema.decodeUnknownSync(Relayer)({
    ...evmRelayer,
    id,
    notification_id,
    address: "0x0000000000000000000000000000000000000001",
    system_disabled: false,
    custom_rpc_urls: [{ url: "https://rpc.example.com/***", weight: 50 }],
    ...changes
  })

/** Publishes an event of a relayer in a transaction. */
export const publish = Effect.fnUntraced(function* (type: KnownEventType, relayer: Relayer) {
  const changes = yield* Changes
  const sql = yield* SqlClient.SqlClient
  yield* sql.withTransaction(changes.publish(type, relayer))
})

/** The deliveries of a notification, the latest first. */
export const log = (id: NotificationId) =>
  Effect.flatMap(Deliveries, (deliveries) => Effect.map(deliveries.list(id, { limit: 100 }), ({ items }) => items))

/** Repeats `check` until it is true. The test clock does not move. */
export const until = <E, R>(check: Effect.Effect<boolean, E, R>) => awaited(check, (holds) => holds)

/** Waits until the deliveries, the oldest first, have these numbers of attempts. */
export const attempted = (id: NotificationId, ...counts: ReadonlyArray<number>) =>
  awaited(log(id), (deliveries) => counts.every((count, index) => deliveries.at(-1 - index)?.attempts.length === count))

export const outcomes = (deliveries: ReadonlyArray<Delivery>) =>
  deliveries.map(({ state, attempts }) => [state, ...attempts.map(({ outcome }) => outcome)])

/** Moves all times in the database as if `time` had passed, and wakes the delivery job. */
export const pass = Effect.fnUntraced(function* (time: Duration.Input) {
  const sql = yield* SqlClient.SqlClient
  const by = sql`${Duration.toMillis(time)}::float8 * interval '1 millisecond'`
  yield* sql`UPDATE deliveries SET next_attempt_at = next_attempt_at - ${by}, give_up_at = give_up_at - ${by},
    created_at = created_at - ${by}`
  yield* sql`UPDATE notifications SET failing_since = failing_since - ${by},
    previous_signing_key_expires_at = previous_signing_key_expires_at - ${by}`
  yield* (yield* commitSignalOf("deliveries")).now
})

/** Milliseconds between the last attempt and the next one. */
export const waits = ({ attempts, next_attempt_at }: Delivery) =>
  next_attempt_at === undefined || attempts[0] === undefined
    ? Number.NaN
    : DateTime.toEpochMillis(next_attempt_at) - DateTime.toEpochMillis(attempts[0].at)
