// Statistics of a webhook receiver: its deliveries per time step, and the deliveries that wait now.
import { Schema } from "effect"
import { field, shown } from "../request/Field.ts"
import { Instant } from "../request/Instant.ts"

/** At most so many deliveries are counted, the newest ones. The series of a busy receiver covers a shorter time. */
export const maxCountedDeliveries = 10_000

/** The longest time, in milliseconds, that a series covers. */
export const longestSeries = 24 * 3_600_000

const at = "2026-01-02T03:04:00.000Z"

const Step = Schema.Struct({
  at: field(Instant, "Beginning of the step.", at),
  delivered: field(Schema.Natural, "Deliveries created in the step that the receiver has accepted.", 41),
  failed: field(Schema.Natural, "Deliveries created in the step that were given up.", 0),
  pending: field(Schema.Natural, "Deliveries created in the step that still wait.", 1),
  p95_ms: shown(
    Schema.Natural,
    "Milliseconds from creation to acceptance, in which 95 % of those that were delivered were accepted. Absent if none was.",
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
