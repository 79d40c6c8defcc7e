// The health of a relayer, as a state machine without a clock: each check of its chain is a step.
import { Effect, Schema } from "effect"
import type { KnownEventType } from "../event/Event.ts"
import type { FailedFinding, Finding } from "./HealthFinding.ts"
import { isSameReason } from "./HealthReason.ts"
import { DisabledReason } from "../relayer/Relayer.ts"

/** Conditions that an event has announced and that no event has ended. */
const alerted = { alerted_degraded: Schema.Boolean, alerted_low: Schema.Boolean }

/** The names under which they are stored. */
const storedNames = { alerted_degraded: "told_degraded", alerted_low: "told_low" } as const

/** Stored states of earlier versions lack `failures` of a failing relayer, and `answered`. */
const failed = {
  reason: DisabledReason,
  /** Failed checks in a row. */
  failures: Schema.Int.check(Schema.isGreaterThan(0)).pipe(Schema.withDecodingDefaultKey(Effect.succeed(1))),
  /** Whether the chain has ever answered. */
  answered: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(true))),
  ...alerted
}

export const Health = Schema.Union([
  /** Not checked yet. */
  Schema.Struct({ status: Schema.tag("unknown"), ...alerted }).pipe(Schema.encodeKeys(storedNames)),
  Schema.Struct({ status: Schema.tag("healthy"), ...alerted }).pipe(Schema.encodeKeys(storedNames)),
  /** The relayer works, but not with all of its RPC URLs. */
  Schema.Struct({ status: Schema.tag("degraded"), ...alerted }).pipe(Schema.encodeKeys(storedNames)),
  /** Checks have failed, but too few to disable the relayer. */
  Schema.Struct({ status: Schema.tag("failing"), ...failed }).pipe(Schema.encodeKeys(storedNames)),
  Schema.Struct({ status: Schema.tag("disabled"), ...failed }).pipe(Schema.encodeKeys(storedNames))
])
export type Health = typeof Health.Type

export const unknown: Health = { status: "unknown", alerted_degraded: false, alerted_low: false }

/** Failed checks in a row that disable a relayer; a wrong chain disables it at once, and one good check enables it. */
const failuresThatDisable = 2

/** The same until the relayer's chain has answered once: a new relayer's node may still be starting. */
const failuresThatDisableAtFirst = 3

type HealthEvent = Extract<
  KnownEventType,
  "relayer.disabled" | "relayer.enabled" | "relayer.degraded" | "relayer.recovered" | "relayer.low_balance"
>

export interface Step {
  readonly health: Health
  /** In the order in which they are published. A new reason of a disabled relayer is `relayer.disabled` again. */
  readonly events: ReadonlyArray<HealthEvent>
}

/** Failed checks in a row. */
export const failuresOf = (health: Health): number => ("failures" in health ? health.failures : 0)

/** Failed checks that the relayer can still have before it is disabled. */
export const failuresLeft = (health: Health): number => {
  const limit = hasAnswered(health) ? failuresThatDisable : failuresThatDisableAtFirst
  return health.status === "disabled" ? 0 : limit - failuresOf(health)
}

/** Undefined: the relayer is not disabled. */
export const disabledReasonOf = (health: Health): DisabledReason | undefined =>
  health.status === "disabled" ? health.reason : undefined

/** Whether the relayer's chain has ever answered. */
const hasAnswered = (health: Health): boolean => ("answered" in health ? health.answered : health.status !== "unknown")

/** The reason of a disabled relayer, which says how many failed checks disabled it. */
const withRule = (reason: DisabledReason, answered: boolean): DisabledReason => ({
  ...reason,
  details: answered
    ? `${failuresThatDisable} checks in a row failed: ${reason.details}`
    : `${failuresThatDisableAtFirst} checks in a row failed, and the chain has never answered: ${reason.details}`
})

const fail = (before: Health, { outcome, reason, answered: answers, isLow }: FailedFinding): Health => {
  const failures = failuresOf(before) + 1
  const answered = answers || hasAnswered(before)
  const alerted_low = isLow ?? before.alerted_low
  const limit = answered ? failuresThatDisable : failuresThatDisableAtFirst
  if (outcome === "failed" && before.status !== "disabled" && failures < limit) {
    return { status: "failing", reason, failures, answered, alerted_degraded: before.alerted_degraded, alerted_low }
  }
  const disabled = outcome === "fatal" ? reason : withRule(reason, answered)
  return { status: "disabled", reason: disabled, failures, answered, alerted_degraded: false, alerted_low }
}

const next = (before: Health, finding: Finding): Health => {
  if ("reason" in finding) return fail(before, finding)
  const alerted_degraded = finding.outcome === "partial"
  const status = alerted_degraded ? "degraded" : "healthy"
  return { status, alerted_degraded, alerted_low: finding.isLow ?? before.alerted_low }
}

const eventsOf = (before: Health, after: Health): ReadonlyArray<HealthEvent> => {
  const events: Array<HealthEvent> = []
  const isDisabled = after.status === "disabled"
  if (isDisabled && !isSameReason(disabledReasonOf(before), after.reason)) events.push("relayer.disabled")
  if (!isDisabled && before.status === "disabled") events.push("relayer.enabled")
  if (!isDisabled && before.alerted_degraded !== after.alerted_degraded) {
    events.push(after.alerted_degraded ? "relayer.degraded" : "relayer.recovered")
  }
  if (after.alerted_low && !before.alerted_low) events.push("relayer.low_balance")
  return events
}

/** The health after a check, and the events to publish. */
export const step = (before: Health, finding: Finding): Step => {
  const health = next(before, finding)
  return { health, events: eventsOf(before, health) }
}

/** Seconds after the first, second, … failure in a row. The last value applies to all later ones. */
const delaysAfterFailure = [10, 20, 30, 45, 60] as const

/** The share of the interval by which a check may come earlier or later, so that checks spread out. */
const jitter = 0.2

/** Milliseconds until the next check. `random` is in [0, 1). The delay after a failure is never longer than the usual one. */
export const delayOf = (health: Health, interval: number, random: number): number => {
  const failures = failuresOf(health)
  const usual = Math.round(interval * (1 + jitter * (2 * random - 1)))
  if (failures === 0) return usual
  const seconds = delaysAfterFailure[Math.min(failures, delaysAfterFailure.length) - 1] ?? 60
  return Math.min(seconds * 1000, usual)
}
