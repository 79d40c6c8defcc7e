// The health of a relayer, as a state machine without a clock: each check of its chain is a step.
import { Effect, Schema } from "effect"
import type { ChainSnapshot, CheckFailure } from "../chain/ChainSnapshot.ts"
import type { KnownEventType } from "../event/Event.ts"
import { DisabledReason } from "../relayer/Relayer.ts"
import type { Relayer } from "../relayer/Relayer.ts"
import { hasAnswered } from "./Funding.ts"

// Why a relayer is disabled. The texts are the service's own and contain no text of a provider.

/** Texts for codes that say more than their type. */
const texts: { readonly [key: string]: string } = {
  "BalanceCheckFailed too_low": "the balance is below min_balance",
  "SequenceSyncFailed no_account": "the account does not exist on the network"
}

const usual = {
  RpcValidationFailed: "no RPC URL gave a usable answer",
  NonceSyncFailed: "the account's nonce could not be read",
  BalanceCheckFailed: "the account's balance could not be read",
  SequenceSyncFailed: "the account's sequence number could not be read",
  ChainIdMismatch: "the RPC URL serves another chain than the relayer's network"
} as const satisfies Record<CheckFailure["type"], string>

const detailsOf = ({ type, code }: CheckFailure): string => texts[`${type} ${code}`] ?? usual[type]

/** The type of the failures, or `Multiple` if they have several types, with all texts. `undefined`: nothing has failed. */
export const reasonOf = (failures: ReadonlyArray<CheckFailure>): DisabledReason | undefined => {
  const [first] = failures
  if (first === undefined) return undefined
  const types = new Set(failures.map(({ type }) => type))
  const details = [...new Set(failures.map(detailsOf))].sort().join("; ")
  return { type: types.size === 1 ? first.type : "Multiple", details }
}

export const isSameReason = (one: DisabledReason | undefined, other: DisabledReason | undefined): boolean =>
  one?.type === other?.type && one?.details === other?.details

// What a chain snapshot means for a relayer's health.

export const outcomes = ["ok", "partial", "failed", "fatal"] as const

/** `partial`: the relayer works, but not with all of its RPC URLs. `fatal`: another check will find the same. */
export type Outcome = (typeof outcomes)[number]

interface Lowness {
  /** Whether the balance is near the minimum of the relayer. Absent if the balance is unknown or below the minimum. */
  readonly isLow?: boolean
}

interface GoodFinding extends Lowness {
  readonly outcome: "ok" | "partial"
}

interface FailedFinding extends Lowness {
  readonly outcome: "failed" | "fatal"
  readonly reason: DisabledReason
  /** Whether the chain answered, so that the failure is about the account and not about the connection. */
  readonly answered: boolean
}

export type Finding = GoodFinding | FailedFinding

/** Low-balance events are only published if the policy sets a minimum above 1. The default does not count. */
const lowness = (balance: bigint | undefined, minimum: bigint | undefined): Lowness => {
  if (minimum === undefined || minimum <= 1n) return { isLow: false }
  if (balance === undefined || balance < minimum) return {}
  return { isLow: balance < 2n * minimum }
}

export const findingOf = (reading: ChainSnapshot, policies: Relayer["policies"]): Finding => {
  const low = lowness(reading.balance, policies?.min_balance)
  const reason = reasonOf(reading.failures)
  if (reason !== undefined) {
    const isFatal = reading.failures.some(({ type }) => type === "ChainIdMismatch")
    return { ...low, outcome: isFatal ? "fatal" : "failed", reason, answered: hasAnswered(reading) }
  }
  const isPartial = reading.providers.some(({ failed, breaker }) => failed || breaker !== "closed")
  return { ...low, outcome: isPartial ? "partial" : "ok" }
}

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
  const limit = hasEverAnswered(health) ? failuresThatDisable : failuresThatDisableAtFirst
  return health.status === "disabled" ? 0 : limit - failuresOf(health)
}

/** Undefined: the relayer is not disabled. */
export const disabledReasonOf = (health: Health): DisabledReason | undefined =>
  health.status === "disabled" ? health.reason : undefined

/** Whether the relayer's chain has ever answered. */
const hasEverAnswered = (health: Health): boolean =>
  "answered" in health ? health.answered : health.status !== "unknown"

/** The reason of a disabled relayer, which says how many failed checks disabled it. */
const withRule = (reason: DisabledReason, answered: boolean): DisabledReason => ({
  ...reason,
  details: answered
    ? `${failuresThatDisable} checks in a row failed: ${reason.details}`
    : `${failuresThatDisableAtFirst} checks in a row failed, and the chain has never answered: ${reason.details}`
})

const fail = (before: Health, { outcome, reason, answered: answers, isLow }: FailedFinding): Health => {
  const failures = failuresOf(before) + 1
  const answered = answers || hasEverAnswered(before)
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
