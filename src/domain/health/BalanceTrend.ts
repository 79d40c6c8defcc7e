// The balance of a relayer by hour, what the relayer spends per day, and how long the balance lasts.
import { DateTime, Schema } from "effect"
import { field, shown } from "../request/Field.ts"
import { Instant } from "../request/Instant.ts"
import * as Shown from "../request/Shown.ts"

const hour = 3_600_000
const day = 24 * hour

/** Milliseconds for which the service keeps balances: at most 720 rows per relayer. */
export const keptBalances = 30 * day

/** Milliseconds that a trend reaches back if the caller does not say. */
const usualTrend = 7 * day

/** The shortest period, in milliseconds, for which spending is computed. In a shorter one, one payout looks like a trend. */
const leastTrend = 2 * hour

const at = "2026-01-02T03:00:00.000Z"

const BalancePoint = Schema.Struct({
  at: field(Instant, "Beginning of the hour, or the moment of the last reading.", at),
  balance: field(Shown.Digits, "Balance at its end, in `unit`.", "1000000000000000000")
}).annotate({ identifier: "BalancePoint", description: "The balance of a relayer's account in an hour." })

export const BalanceTrend = Schema.Struct({
  unit: field(Schema.Literals(["wei", "lamport", "stroop"]), "The chain's smallest unit.", "wei"),
  points: field(
    Schema.Array(BalancePoint),
    "Hours in which the balance changed, the oldest first, and the last reading. Between two points it stayed the same.",
    []
  ),
  spent_per_day: shown(
    Shown.Digits,
    "What left the account in the period, for one day: the sum of all decreases. What was sent to it is not subtracted. Absent for less than two hours.",
    "20000000000000000"
  ),
  runway_seconds: shown(
    Schema.Natural,
    "For how long the balance above `min_balance` suffices if as much is spent. Absent if nothing was spent.",
    432_000
  )
}).annotate({ identifier: "BalanceTrend", description: "What the balance of a relayer was, and how long it suffices." })
export type BalanceTrend = typeof BalanceTrend.Type

export const BalanceTrendQuery = {
  since: Schema.optionalKey(
    field(Instant, "First moment. The default is seven days ago, and balances are kept for 30 days.", at)
  )
}
export interface BalanceTrendQuery {
  readonly since?: DateTime.Utc
}

export const sinceOf = ({ since }: BalanceTrendQuery, now: number): number =>
  since === undefined ? now - usualTrend : DateTime.toEpochMillis(since)

export interface BalanceReading {
  /** Milliseconds. */
  readonly at: number
  readonly balance: bigint
}

/** The sum of all decreases between neighboring readings. */
const spentIn = (readings: ReadonlyArray<BalanceReading>): bigint =>
  readings.reduce((spent, { balance }, index) => {
    const before = readings[index - 1]?.balance ?? balance
    return before > balance ? spent + before - balance : spent
  }, 0n)

/** `readings`: the oldest first. `minimum`: the amount that must stay on the account. */
export const trendOf = (
  unit: BalanceTrend["unit"],
  readings: ReadonlyArray<BalanceReading>,
  minimum: bigint
): BalanceTrend => {
  const points = readings.map(({ at, balance }) => ({ at: DateTime.makeUnsafe(at), balance }))
  const [first, last] = [readings[0], readings.at(-1)]
  const length = first === undefined || last === undefined ? 0 : last.at - first.at
  if (last === undefined || length < leastTrend) return { unit, points }
  const spent_per_day = (spentIn(readings) * BigInt(day)) / BigInt(length)
  if (spent_per_day === 0n) return { unit, points, spent_per_day }
  const left = last.balance > minimum ? last.balance - minimum : 0n
  const seconds = (left * BigInt(day / 1000)) / spent_per_day
  const runway_seconds = Number(seconds < BigInt(Number.MAX_SAFE_INTEGER) ? seconds : Number.MAX_SAFE_INTEGER)
  return { unit, points, spent_per_day, runway_seconds }
}
