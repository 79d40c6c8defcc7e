// What a chain snapshot means for a relayer's health.
import * as HealthReason from "./HealthReason.ts"
import { hasAnswered } from "./HealthSnapshot.ts"
import type { ChainSnapshot } from "../chain/ChainSnapshot.ts"
import type { DisabledReason, Relayer } from "../relayer/Relayer.ts"

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

export interface FailedFinding extends Lowness {
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
  const reason = HealthReason.reasonOf(reading.failures)
  if (reason !== undefined) {
    const isFatal = reading.failures.some(({ type }) => type === "ChainIdMismatch")
    return { ...low, outcome: isFatal ? "fatal" : "failed", reason, answered: hasAnswered(reading) }
  }
  const isPartial = reading.providers.some(({ failed, breaker }) => failed || breaker !== "closed")
  return { ...low, outcome: isPartial ? "partial" : "ok" }
}
