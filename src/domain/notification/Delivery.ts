// Deliveries: the webhook messages of a notification, with their attempts and statistics.
import { DateTime, Schema } from "effect"
import { EventType } from "../event/Event.ts"
import { RelayerId } from "../relayer/Relayer.ts"
import { field, shown } from "../request/Field.ts"
import { count, cursor } from "../request/Page.ts"
import * as Shown from "../request/Shown.ts"
import { flag, Instant, maybe, resourceId } from "../request/Shown.ts"

export const DeliveryId = resourceId
  .annotate({ description: "Identifier of the delivery.", examples: ["0191e9a0-7b1c-7000-8000-5e0c3f9b2d11"] })
  .pipe(Schema.brand("DeliveryId"))
export type DeliveryId = typeof DeliveryId.Type

export const DeliveryState = Schema.Literals(["pending", "delivered", "failed"]).annotate({
  identifier: "DeliveryState",
  message: "Expected pending, delivered or failed",
  description: "`failed`: the service makes no further attempts.",
  examples: ["delivered"]
})
export type DeliveryState = typeof DeliveryState.Type

export const DeliveryOutcome = Schema.Literals([
  "delivered",
  "rejected",
  "gone",
  "refused",
  "timeout",
  "unreachable",
  "error"
]).annotate({
  identifier: "DeliveryOutcome",
  description:
    "`delivered`: the receiver answered 2xx. `gone`: it answered 410. `rejected`: it answered another status. `refused`: the service may not call the URL. `timeout`: no answer in time. `unreachable`: no connection. `error`: a fault of the service.",
  examples: ["delivered"]
})
export type DeliveryOutcome = typeof DeliveryOutcome.Type

/** The three digits of a status line; a receiver may send any. */
const HttpStatus = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999 }), Shown.generatedBetween(100, 599))

const attempt = {
  at: field(Instant, "When the attempt was made.", "2026-01-02T03:04:05.678Z"),
  ms: field(Schema.Natural, "Milliseconds until the answer, or until the attempt failed.", 120),
  outcome: DeliveryOutcome,
  status: Schema.optionalKey(field(HttpStatus, "HTTP status of the answer. Absent if there was none.", 204)),
  answer: Schema.optionalKey(
    field(Shown.Words, "The first kilobyte of the answer's body, or why there was no answer.", "ok")
  )
}

export const DeliveryAttempt = Schema.Struct(attempt).annotate({
  identifier: "DeliveryAttempt",
  description: "One attempt to send a delivery."
})
export type DeliveryAttempt = typeof DeliveryAttempt.Type

const DeliveryType = Schema.Union([EventType, Schema.Literal("test")])

export const Delivery = Schema.Struct({
  id: field(DeliveryId, "Identifier of the delivery: the header `webhook-id`, and `id` in the body."),
  type: field(DeliveryType, "Type of the event, or `test`.", "relayer.paused"),
  event_id: Schema.optionalKey(field(Schema.Natural, "`id` of the event. Absent for a test.", 7)),
  relayer_id: Schema.optionalKey(field(Shown.Id, "Relayer that the event is about. Absent for a test.", "payouts")),
  state: DeliveryState,
  created_at: field(Instant, "When the delivery was created.", "2026-01-02T03:04:05.678Z"),
  next_attempt_at: Schema.optionalKey(
    field(
      Instant,
      "Earliest time of the next attempt. Absent unless the delivery is pending.",
      "2026-01-02T03:05:05.678Z"
    )
  ),
  delivered_at: Schema.optionalKey(
    field(Instant, "When the receiver accepted the delivery.", "2026-01-02T03:04:06.012Z")
  ),
  body: Schema.optionalKey(
    field(
      Shown.shaped(/^\{"event":"[a-z_]{1,20}"\}$/),
      "The body that was signed and sent, byte for byte. Absent in a list with `body=false`.",
      '{"id":"0191e9a0-7b1c-7000-8000-5e0c3f9b2d11","event":"relayer_state_update"}'
    )
  ),
  attempts: field(Schema.Array(DeliveryAttempt), "The last 50 attempts, newest first.")
}).annotate({ identifier: "Delivery", description: "A webhook message for one notification." })
export type Delivery = typeof Delivery.Type

export const DeliveryQuery = {
  state: Schema.optionalKey(field(DeliveryState, "Only deliveries in this state.")),
  type: Schema.optionalKey(
    field(DeliveryType, "Only deliveries of events of this type, or of tests.", "relayer.paused")
  ),
  relayer_id: Schema.optionalKey(field(RelayerId, "Only deliveries about this relayer and its transactions.")),
  event_id: Schema.optionalKey(count("Only deliveries of the event with this `id`.", 7)),
  body: Schema.optionalKey(
    flag("Whether deliveries have their body (default true). Most of the bytes of a list are bodies.")
  ),
  limit: Schema.optionalKey(count("Deliveries on a page, at most 100.", 20, 20)),
  cursor: Schema.optionalKey(cursor)
}

/** What the deliveries of a list have in common. Absent members do not limit the list. */
export interface DeliveryFilter {
  readonly state?: DeliveryState
  readonly type?: typeof DeliveryType.Type
  readonly relayer_id?: RelayerId
  readonly event_id?: number
}

export interface DeliveryQuery extends DeliveryFilter {
  readonly body?: boolean
  readonly limit?: number
  readonly cursor?: string
}

/** A replay sends at most this many deliveries. */
export const maxReplayed = 10_000

interface Range {
  readonly since: DateTime.Utc
  readonly until: DateTime.Utc
}

export const ReplayDeliveries = Schema.Struct({
  since: field(Instant, "Events from this moment on.", "2026-01-01T00:00:00Z"),
  until: field(Instant, "Events before this moment.", "2026-01-02T00:00:00Z"),
  state: maybe(Schema.Literals(["delivered", "failed"]), {
    description: "Only deliveries in this state. If absent, both.",
    examples: ["failed"]
  }),
  dry_run: maybe(Schema.Boolean, {
    description: "Whether to count the deliveries only. Nothing is sent, and the audit log has no record.",
    examples: [true]
  })
})
  .check(
    Schema.makeFilter(({ since, until }: Range) =>
      DateTime.isLessThan(since, until) ? undefined : { path: ["until"], issue: "must be later than since" }
    )
  )
  .annotate({ identifier: "ReplayDeliveriesRequest", toJsonSchema: () => [{}, true] })
export type ReplayDeliveries = typeof ReplayDeliveries.Type

export const ReplayedDeliveries = Schema.Struct({
  replayed: field(Schema.Natural, "Deliveries that are sent again. With `dry_run`, those that would be.", 3)
}).annotate({ identifier: "ReplayedDeliveries", description: "The result of a replay." })
export type ReplayedDeliveries = typeof ReplayedDeliveries.Type

export const TestDelivery = Schema.Struct({ id: DeliveryId, ...attempt }).annotate({
  identifier: "TestDelivery",
  description: "The result of a test."
})
export type TestDelivery = typeof TestDelivery.Type

export class DeliveryNotFound extends Schema.TaggedError<DeliveryNotFound>()("DeliveryNotFound", {}) {
  override readonly message = "the notification has no delivery with this id"
}

// Statistics of a webhook receiver: its deliveries per time step, and the deliveries that wait now.

/** At most so many deliveries are counted, the newest ones. The series of a busy receiver covers a shorter time. */
export const maxCountedDeliveries = 10_000

/** The longest time, in milliseconds, that a series covers. */
export const longestSeries = 24 * 3_600_000

const at = "2026-01-02T03:04:00.000Z"

const Step = Schema.Struct({
  at: field(Instant, "Beginning of the step.", at),
  delivered: field(Schema.Natural, "Deliveries that the receiver accepted in the step.", 41),
  failed: field(Schema.Natural, "Deliveries that were given up in the step, with their last attempt.", 0),
  pending: field(Schema.Natural, "Deliveries that waited at the end of the step.", 1),
  p95_ms: shown(
    Schema.Natural,
    "Milliseconds from creation to acceptance, in which 95 % of those that were accepted in the step were accepted. Absent if none was.",
    240
  )
}).annotate({ identifier: "DeliveryStep", description: "Deliveries of a step of time." })

export const DeliveryStatistics = Schema.Struct({
  steps: field(Schema.Array(Step), "All steps, the oldest first.", []),
  complete: field(
    Schema.Boolean,
    `Whether all deliveries of the period are counted. False if there are more than ${maxCountedDeliveries}: the newest are counted.`,
    true
  ),
  pending: field(Schema.Natural, `Deliveries that wait now, counted to ${maxCountedDeliveries}.`, 3),
  oldest_pending_at: shown(Instant, "When the oldest of them was created.", at),
  gives_up_at: shown(Instant, "When the first of them is given up.", at),
  failing_since: shown(
    Instant,
    "Since when the receiver accepts nothing. Absent if its last attempt was accepted, and for a key that is limited to relayers.",
    at
  )
}).annotate({ identifier: "DeliveryStatistics", description: "How a receiver of webhooks did, and what waits." })
export type DeliveryStatistics = typeof DeliveryStatistics.Type
