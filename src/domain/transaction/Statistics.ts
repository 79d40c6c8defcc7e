// The numbers of an overview: how many transactions became final, how long they took, and how many are open.
import { Schema } from "effect"
import { RelayerId } from "../relayer/Relayer.ts"
import { field, shown } from "../request/Field.ts"
import { SeriesQuery } from "../request/Page.ts"
import { Instant } from "../request/Text.ts"

const hour = 3_600_000

/** The longest time, in milliseconds, of a series that counts rows: 6,000 transactions are about 250 database pages. */
export const longestCounted = 6 * hour

/** The longest time, in milliseconds, of a series that is read from sums. */
export const longestStatistics = 7 * 24 * hour

/** Milliseconds of a sum. Steps of a series that is read from sums are multiples of it. */
export const sumStep = hour / 4

const at = "2026-01-02T03:04:00.000Z"

export const StatisticsQuery = {
  ...SeriesQuery,
  relayer_id: Schema.optionalKey(field(RelayerId, "Only transactions of this relayer.", "payouts"))
}
export interface StatisticsQuery extends SeriesQuery {
  readonly relayer_id?: RelayerId
}

const Final = Schema.Struct({
  confirmed: field(Schema.Natural, "Confirmed transactions.", 57),
  failed: field(Schema.Natural, "Failed ones.", 1),
  canceled: field(Schema.Natural, "Canceled ones.", 0),
  expired: field(Schema.Natural, "Expired ones.", 0)
}).annotate({ identifier: "FinalCounts", description: "Transactions that became final, by their state." })

const Step = Schema.Struct({
  at: field(Instant, "Beginning of the step.", at),
  final: field(Final, "Transactions that became final in the step."),
  p50_ms: shown(
    Schema.Natural,
    "Milliseconds from acceptance to confirmation, of half of those confirmed in the step at most. Absent if none was.",
    14_000
  ),
  p95_ms: shown(Schema.Natural, "The same of 95 % of them.", 31_000)
}).annotate({ identifier: "TransactionStep", description: "Transactions that became final in a step of time." })

const Open = Schema.Struct({
  pending: field(Schema.Natural, "Transactions that nothing was signed for.", 12),
  in_flight: field(Schema.Natural, "Signed transactions that are not final.", 4),
  held: field(Schema.Natural, "How many of both wait for something else than their turn.", 2),
  oldest_at: shown(Instant, "When the oldest of them was accepted.", at)
}).annotate({ identifier: "OpenCounts", description: "Transactions that are not final." })

export const TransactionStatistics = Schema.Struct({
  steps: field(Schema.Array(Step), "All steps, the oldest first.", []),
  open: field(Open, "What is open now.")
}).annotate({ identifier: "TransactionStatistics", description: "Final transactions by steps of time, and open ones." })
export type TransactionStatistics = typeof TransactionStatistics.Type
