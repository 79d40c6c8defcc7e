// Which events report a change of a transaction: one per transition, and one per new hash.
import type { Figures } from "./Cause.ts"
import type { Code, KnownCode } from "./Code.ts"
import type { resources } from "../access/Resources.ts"
import { isSamePlace } from "./Place.ts"
import { isFinal } from "./Transaction.ts"
import type { State, Transaction } from "./Transaction.ts"

export type TransactionEventType = (typeof resources.transaction.eventTypes)[number]

const ofState: Readonly<Record<State, TransactionEventType | undefined>> = {
  pending: undefined,
  signed: "transaction.signed",
  submitted: "transaction.submitted",
  mined: "transaction.mined",
  confirmed: "transaction.confirmed",
  failed: "transaction.failed",
  canceled: "transaction.canceled",
  expired: "transaction.expired"
}

/** Codes that belong to the usual way of a transaction. All others say what it waits for: it is held. */
export const usualCodes = [
  "queued",
  "lane_window_full",
  "waits_for_predecessors",
  "sending",
  "in_pool",
  "mined_waiting"
] as const satisfies ReadonlyArray<KnownCode>

const usual: ReadonlySet<Code> = new Set<KnownCode>(usualCodes)

const isHeld = (before: Transaction, after: Transaction): boolean =>
  after.cause !== undefined && after.cause.code !== before.cause?.code && !usual.has(after.cause.code)

/** In their order. */
export const eventsOf = (before: Transaction, after: Transaction): ReadonlyArray<TransactionEventType> => {
  if (isFinal(before)) return []
  const replaced = after.attempts.slice(before.attempts.length).filter(({ kind }) => kind !== "original")
  const moved = after.state === before.state ? undefined : ofState[after.state]
  const events = replaced.map((): TransactionEventType => "transaction.replaced")
  if (before.state === "mined" && after.state === "submitted") return [...events, "transaction.reorged"]
  if (moved !== undefined) return [...events, moved]
  if (before.mined !== undefined && after.mined === undefined && after.place !== undefined) {
    return [...events, "transaction.reorged"]
  }
  return events.length === 0 && isHeld(before, after) ? ["transaction.held"] : events
}

/** Figures of these codes change with every block, and readers find the newest ones in the lane. */
const quiet: ReadonlySet<Code> = new Set<KnownCode>([
  "queued",
  "lane_window_full",
  "sending",
  "in_pool",
  "mined_waiting"
])

const areFiguresEqual = (one: Figures, other: Figures): boolean => {
  const entries = Object.entries(one)
  const others: Readonly<Record<string, unknown>> = other
  return entries.length === Object.keys(other).length && entries.every(([name, value]) => others[name] === value)
}

const isCauseEqual = (before: Transaction, after: Transaction): boolean => {
  if (after.cause === undefined || before.cause === undefined) return after.cause === before.cause
  if (after.cause.code !== before.cause.code) return false
  return quiet.has(after.cause.code) || areFiguresEqual(before.cause.figures, after.cause.figures)
}

/** Whether a command changed what the ledger stores, apart from figures that change with every block. */
export const isWorthWriting = (before: Transaction, after: Transaction): boolean =>
  !isCauseEqual(before, after) ||
  after.state !== before.state ||
  after.intent !== before.intent ||
  after.clearCode !== before.clearCode ||
  !isSamePlace(after.place, before.place) ||
  after.mined !== before.mined ||
  after.restored !== before.restored ||
  after.requeues !== before.requeues ||
  after.attempts !== before.attempts ||
  after.versions !== before.versions
