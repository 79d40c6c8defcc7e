// What a look at a chain means for a relayer's health.
import * as HealthReason from "./HealthReason.ts"
import type { ChainSnapshot } from "../chain/ChainSnapshot.ts"
import type { DisabledReason, Relayer } from "../relayer/Relayer.ts"

export const outcomes = ["ok", "partial", "failed", "fatal"] as const

/** `partial`: it works, but not with all of its RPC URLs. `fatal`: looking again will not make it better. */
export type Outcome = (typeof outcomes)[number]

export type Finding = {
  /** Whether the balance is near the end of what the relayer needs. Absent: not known, or below that. */
  readonly isLow?: boolean
} & ({ readonly outcome: "ok" | "partial" } | { readonly outcome: "failed" | "fatal"; readonly reason: DisabledReason })

/** Of a relayer whose policy asks for a balance: a default, and a single unit, are no sign of wanting to be told. */
const lowness = (balance: bigint | undefined, minimum: bigint | undefined): { readonly isLow?: boolean } => {
  if (minimum === undefined || minimum <= 1n) return { isLow: false }
  if (balance === undefined || balance < minimum) return {}
  return { isLow: balance < 2n * minimum }
}

export const findingOf = (reading: ChainSnapshot, policies: Relayer["policies"]): Finding => {
  const low = lowness(reading.balance, policies?.min_balance)
  const reason = HealthReason.reasonOf(reading.failures)
  if (reason !== undefined) {
    const isFatal = reading.failures.some(({ type }) => type === "ChainIdMismatch")
    return { ...low, outcome: isFatal ? "fatal" : "failed", reason }
  }
  const isPartial = reading.providers.some(({ failed, breaker }) => failed || breaker !== "closed")
  return { ...low, outcome: isPartial ? "partial" : "ok" }
}
