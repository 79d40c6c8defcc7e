// Deliveries: what was sent to a notification, or will be, and what came of it.
import { DateTime, Schema } from "effect"
import { EventType } from "../event/Event.ts"
import { Instant } from "../request/Instant.ts"
import { Count } from "../request/Page.ts"
import { maybe, resourceId } from "../request/Text.ts"

export const DeliveryId = resourceId.pipe(Schema.brand("DeliveryId"))
export type DeliveryId = typeof DeliveryId.Type

/** `failed`: given up. */
export const DeliveryState = Schema.Literals(["pending", "delivered", "failed"]).annotate({
  identifier: "DeliveryState"
})
export type DeliveryState = typeof DeliveryState.Type

/**
 * `delivered`: answered with 2xx; `rejected`: with another status; `gone`: with 410. `refused`: the URL leads where none may
 * lead. `timeout`: no answer in time; `unreachable`: none at all. `error`: a fault of this service.
 */
export const DeliveryOutcome = Schema.Literals([
  "delivered",
  "rejected",
  "gone",
  "refused",
  "timeout",
  "unreachable",
  "error"
]).annotate({ identifier: "DeliveryOutcome" })
export type DeliveryOutcome = typeof DeliveryOutcome.Type

const attempt = {
  at: Instant,
  /** Until the answer, or until there was none. */
  ms: Schema.Int,
  outcome: DeliveryOutcome,
  status: Schema.optionalKey(Schema.Int),
  /** The first kilobyte of the answer's body, or why there was none. */
  answer: Schema.optionalKey(Schema.String)
}

export const DeliveryAttempt = Schema.Struct(attempt).annotate({ identifier: "DeliveryAttempt" })
export type DeliveryAttempt = typeof DeliveryAttempt.Type

export const Delivery = Schema.Struct({
  /** The header `webhook-id`, and the `id` of the body. */
  id: DeliveryId,
  type: Schema.Union([EventType, Schema.Literal("test")]),
  /** Of the event that it tells of. Absent of a test. */
  event_id: Schema.optionalKey(Schema.Int),
  /** Absent of a test. */
  relayer_id: Schema.optionalKey(Schema.String),
  state: DeliveryState,
  created_at: Instant,
  /** When it is sent at the earliest. Absent where it is not pending. */
  next_attempt_at: Schema.optionalKey(Instant),
  delivered_at: Schema.optionalKey(Instant),
  /** What was signed and sent, byte for byte. */
  body: Schema.String,
  /** The last 50, the latest first. */
  attempts: Schema.Array(DeliveryAttempt)
}).annotate({ identifier: "Delivery" })
export type Delivery = typeof Delivery.Type

export const DeliveryQuery = {
  state: Schema.optionalKey(DeliveryState),
  limit: Schema.optionalKey(Count.annotateKey({ description: "Deliveries on a page, 20 by default, at most 100." })),
  cursor: Schema.optionalKey(
    Schema.String.annotateKey({ description: "From the `Link` header (`rel=next`) of the page before." })
  )
}
export interface DeliveryQuery {
  readonly state?: DeliveryState
  readonly limit?: number
  readonly cursor?: string
}

/** At most this many deliveries are sent again at once. */
export const maxReplayed = 10_000

export const ReplayDeliveries = Schema.Struct({
  /** Events from this moment on. */
  since: Instant,
  /** Events before this moment. */
  until: Instant,
  /** Absent: both. */
  state: maybe(Schema.Literals(["delivered", "failed"]))
})
  .check(
    Schema.makeFilter(({ since, until }: { readonly since: DateTime.Utc; readonly until: DateTime.Utc }) =>
      DateTime.isLessThan(since, until) ? undefined : { path: ["until"], issue: "must be later than since" }
    )
  )
  .annotate({ identifier: "ReplayDeliveriesRequest" })
export type ReplayDeliveries = typeof ReplayDeliveries.Type

export const ReplayedDeliveries = Schema.Struct({
  /** Deliveries that are sent again. */
  replayed: Schema.Int
}).annotate({ identifier: "ReplayedDeliveries" })
export type ReplayedDeliveries = typeof ReplayedDeliveries.Type

export const TestDelivery = Schema.Struct({ id: DeliveryId, ...attempt }).annotate({ identifier: "TestDelivery" })
export type TestDelivery = typeof TestDelivery.Type

export class DeliveryNotFound extends Schema.TaggedError<DeliveryNotFound>()("DeliveryNotFound", {}) {}
