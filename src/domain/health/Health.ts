// The health of a relayer: what the checks of its chain have made of it so far. A state machine without a clock.
import { Schema } from "effect"
import type { EventType } from "../event/Event.ts"
import type { Finding, Outcome } from "./HealthFinding.ts"
import { isSameReason } from "./HealthReason.ts"
import { DisabledReason } from "../relayer/Relayer.ts"

/** What has been told as an event, and not yet that it is over. */
const told = { told_degraded: Schema.Boolean, told_low: Schema.Boolean }

/** Checks in a row. */
const failures = Schema.Int.check(Schema.isGreaterThan(0))

export const Health = Schema.Union([
  /** Not checked yet. */
  Schema.Struct({ status: Schema.tag("unknown"), ...told }),
  Schema.Struct({ status: Schema.tag("healthy"), ...told }),
  /** It works, but not with all of its RPC URLs. */
  Schema.Struct({ status: Schema.tag("degraded"), ...told }),
  /** One check has failed: not enough to disable. */
  Schema.Struct({ status: Schema.tag("failing"), reason: DisabledReason, ...told }),
  Schema.Struct({ status: Schema.tag("disabled"), reason: DisabledReason, failures, ...told })
])
export type Health = typeof Health.Type

export const HealthStatus = Schema.Literals(["unknown", "healthy", "degraded", "failing", "disabled"]).annotate({
  identifier: "HealthStatus"
})
export type HealthStatus = Health["status"]

export const unknown: Health = { status: "unknown", told_degraded: false, told_low: false }

/** Two failures in a row disable, a wrong chain at once; one good check ends it. There are no other transitions. */
export const transitions = {
  unknown: { ok: "healthy", partial: "degraded", failed: "failing", fatal: "disabled" },
  healthy: { ok: "healthy", partial: "degraded", failed: "failing", fatal: "disabled" },
  degraded: { ok: "healthy", partial: "degraded", failed: "failing", fatal: "disabled" },
  failing: { ok: "healthy", partial: "degraded", failed: "disabled", fatal: "disabled" },
  disabled: { ok: "healthy", partial: "degraded", failed: "disabled", fatal: "disabled" }
} as const satisfies Record<HealthStatus, Record<Outcome, HealthStatus>>

type HealthEvent = Extract<
  EventType,
  "relayer.disabled" | "relayer.enabled" | "relayer.degraded" | "relayer.recovered" | "relayer.low_balance"
>

export interface Step {
  readonly health: Health
  /** In the order in which they are told. A new reason of a disabled relayer is told as `relayer.disabled` again. */
  readonly events: ReadonlyArray<HealthEvent>
}

/** Checks in a row that have failed. */
export const failuresOf = (health: Health): number => {
  if (health.status === "disabled") return health.failures
  return health.status === "failing" ? 1 : 0
}

/** Why the relayer is disabled. Undefined: it is not. */
export const disabledReasonOf = (health: Health): DisabledReason | undefined =>
  health.status === "disabled" ? health.reason : undefined

const next = (before: Health, finding: Finding): Health => {
  const status = transitions[before.status][finding.outcome]
  const told_low = finding.isLow ?? before.told_low
  if (!("reason" in finding)) {
    const told_degraded = finding.outcome === "partial"
    return { status: told_degraded ? "degraded" : "healthy", told_degraded, told_low }
  }
  const { reason } = finding
  return status === "disabled"
    ? { status, reason, failures: failuresOf(before) + 1, told_degraded: false, told_low }
    : { status: "failing", reason, told_degraded: before.told_degraded, told_low }
}

const eventsOf = (before: Health, after: Health): ReadonlyArray<HealthEvent> => {
  const events: Array<HealthEvent> = []
  const isDisabled = after.status === "disabled"
  if (isDisabled && !isSameReason(disabledReasonOf(before), after.reason)) events.push("relayer.disabled")
  if (!isDisabled && before.status === "disabled") events.push("relayer.enabled")
  if (!isDisabled && before.told_degraded !== after.told_degraded) {
    events.push(after.told_degraded ? "relayer.degraded" : "relayer.recovered")
  }
  if (after.told_low && !before.told_low) events.push("relayer.low_balance")
  return events
}

/** What a check makes of a relayer's health, and what there is to tell. */
export const step = (before: Health, finding: Finding): Step => {
  const health = next(before, finding)
  return { health, events: eventsOf(before, health) }
}
