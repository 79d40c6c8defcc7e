// Whether a relayer is topped up, and with how much: from what providers show, what was paid, and what the limits leave. Pure.
import type { HoldCode } from "../../domain/health/TopUpReport.ts"
import type { TopUp } from "../../domain/relayer/TopUp.ts"
import { agreeing } from "./Rows.ts"
import { isNoop, newestRequest } from "./Transaction.ts"
import type { Transaction } from "./Transaction.ts"

/** `create`: the payment makes the account. */
export type PaymentKind = "transfer" | "create"

/** What a stored request of a payment has besides: without funds it fails at once, so that it holds nothing of its payer. */
export interface TopUpRequest {
  readonly fails_without_funds: true
}

/** Whether the transaction pays for a top-up. */
export const isTopUp = (transaction: Transaction): boolean => {
  const request: unknown = newestRequest(transaction)
  return typeof request === "object" && request !== null && "fails_without_funds" in request
}

// What became of a payment.

/** `none`: it is proven that nothing was paid. */
export type TopUpOutcome = "paid" | "none" | "unknown"

/** What became of the payment that a final transaction was for. An outcome that is not proven counts as paid for the limits. */
export const outcomeOf = ({
  attempts,
  mined,
  state
}: Pick<Transaction, "attempts" | "mined" | "state">): TopUpOutcome => {
  if (state === "confirmed") return "paid"
  if (mined !== undefined) {
    const executed = attempts.find(({ ordinal }) => ordinal === mined.ordinal)
    const isNothing = executed !== undefined && isNoop(executed)
    return isNothing || !mined.receipt.isSuccess ? "none" : "paid"
  }
  return attempts.length === 0 ? "none" : "unknown"
}

// Whether the balance is low.

/** What one provider shows of the account. */
export interface BalanceAt {
  /** The block, slot or ledger that the balance is of. */
  readonly height: number
  /** What can be spent, in the smallest unit. */
  readonly balance: bigint
  /** What an account that does not exist needs besides, to exist. Absent: it exists, or needs nothing. */
  readonly reserve?: bigint
}

/** What the ledger has of earlier payments to the relayer. */
export interface PaidBefore {
  readonly isOpen: boolean
  /** Whether the last payment has paid nothing, and its pause is not over. */
  readonly hasFailed: boolean
  readonly lastKind?: PaymentKind | undefined
  /** Whether the last 24 hours are not known, because the ledger is a copy. */
  readonly isRestored: boolean
  /** The highest block of a payment. Absent: none is in a block. */
  readonly height?: number | undefined
  /** The block at which the only provider has shown a low balance before. Absent: it has not. */
  readonly lowHeight?: number | undefined
}

/** `Wait`: not yet. `lowHeight`: to be remembered for the next check. */
export type Look =
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Wait"; readonly code?: HoldCode; readonly lowHeight?: number }
  | { readonly _tag: "Due"; readonly kind: PaymentKind; readonly wanted: bigint; readonly least: bigint }

export interface Looking {
  readonly policy: TopUp
  readonly before: PaidBefore
  /** Providers that are configured. */
  readonly configured: number
  /** Of those that answer, one each. */
  readonly readings: ReadonlyArray<BalanceAt>
  /** Hours for which the balance lasts. Absent: it is not known, or nothing is spent. */
  readonly runwayHours?: number | undefined
}

/** A block without the last payment shows the balance before it. */
const isFresh = ({ height }: BalanceAt, before: PaidBefore): boolean =>
  before.height === undefined || height >= before.height

const lowest = (readings: ReadonlyArray<BalanceAt>): BalanceAt | undefined =>
  readings.reduce<BalanceAt | undefined>(
    (least, one) => (least === undefined || one.balance < least.balance ? one : least),
    undefined
  )

/** One provider alone must show it at two blocks. */
const byOne = (low: BalanceAt, { lowHeight, ...before }: PaidBefore): boolean =>
  lowHeight !== undefined && low.height > lowHeight && isFresh({ ...low, height: lowHeight }, before)

/** Whether the account needs a payment, by what providers show. */
export const look = ({ before, configured, policy, readings, runwayHours }: Looking): Look => {
  if (before.isOpen) return { _tag: "Nothing" }
  const isShort = policy.runway_hours !== undefined && runwayHours !== undefined && runwayHours < policy.runway_hours
  const threshold = isShort ? policy.to : policy.below
  const fresh = readings.filter((reading) => isFresh(reading, before))
  const low = fresh.filter(({ balance }) => balance < threshold)
  const least = lowest(low)
  if (least === undefined) return { _tag: "Nothing" }
  if (configured >= agreeing && low.length < agreeing) return { _tag: "Wait", code: "balance_unconfirmed" }
  if (configured < agreeing && !byOne(least, before)) {
    const { lowHeight } = before
    const isKept =
      lowHeight !== undefined && lowHeight <= least.height && isFresh({ ...least, height: lowHeight }, before)
    return { _tag: "Wait", lowHeight: isKept ? lowHeight : least.height }
  }
  const { balance, reserve } = least
  const kind = reserve === undefined ? "transfer" : "create"
  if (before.isRestored) return { _tag: "Wait", code: "top_ups_unknown" }
  // A creation that came too late says nothing about a transfer.
  if (before.hasFailed && before.lastKind === kind) return { _tag: "Wait", code: "top_up_failed" }
  return { _tag: "Due", kind, wanted: policy.to - balance + (reserve ?? 0n), least: reserve ?? 1n }
}

// How much the limits leave.

export interface Limits {
  readonly maxPerDay: bigint
  /** What was paid, or may have been, to the relayer in the last 24 hours. */
  readonly used: bigint
  /** Absent: the payer has no limit of its own. */
  readonly outPerDay?: bigint | undefined
  readonly usedOfPayer: bigint
  /** What the payment costs in fees. */
  readonly fee: bigint
}

/** A payment is at least so many times its fee. */
const leastOfFee = 10n

const least = (one: bigint, other: bigint): bigint => (one < other ? one : other)

export type Allowed = { readonly amount: bigint } | { readonly code: HoldCode }

/** `wanted`, cut by what the limits leave. */
export const allowedOf = (
  { wanted, least: atLeast }: Pick<Extract<Look, { readonly _tag: "Due" }>, "wanted" | "least">,
  { fee, maxPerDay, outPerDay, used, usedOfPayer }: Limits
): Allowed => {
  const minimum = leastOfFee * fee > atLeast ? leastOfFee * fee : atLeast
  if (wanted < minimum) return { code: "amount_too_small" }
  const own = least(wanted, maxPerDay - used)
  if (own < minimum) return { code: "top_up_capped" }
  const amount = outPerDay === undefined ? own : least(own, outPerDay - usedOfPayer)
  return amount < minimum ? { code: "payer_capped" } : { amount }
}
