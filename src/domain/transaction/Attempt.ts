// Attempts: the signed versions of a transaction. What left may be mined, so none of them is ever forgotten.
import type { Fees } from "./Fees.ts"
import type { Moment } from "./Moment.ts"
import type { AnswerClass } from "./Refusal.ts"
import type { Since } from "./Speed.ts"

/** `bump` and `replace` execute the request, like `original`; a raised no-op is a `noop` again. */
export type AttemptKind = "original" | "bump" | "replace" | "noop"

export interface Receipt {
  readonly blockNumber: number
  readonly blockHash: string
  readonly isSuccess: boolean
  readonly gasUsed: bigint
  /** Wei per gas. */
  readonly effectiveGasPrice: bigint
  /** Wei that a rollup charged for the data, besides gas. Absent: nothing. */
  readonly dataFee?: bigint
  /** Wei that a rollup charged for its operator, besides gas. Absent: nothing. */
  readonly operatorFee?: bigint
  /** Lower-case hex. Absent: nothing was created. */
  readonly contractAddress?: string
  /** Decoded. Absent: not reverted, not asked for, or not known. */
  readonly revertReason?: string
}

/** `unknown`: it may have left or not. `accepted` and `refused` are the newest answers of nodes. */
export type Outcome = "unknown" | "accepted" | "refused"

/** Why nodes refused the bytes, as `Refusal.ts` reads it. */
export interface Refusal {
  readonly class: Exclude<AnswerClass, "accepted" | "provider">
  /** Wei per gas that a node named. */
  readonly minimumNeeded?: bigint
}

export interface Attempt {
  /** From 1, over all nonces of the transaction. */
  readonly ordinal: number
  readonly kind: AttemptKind
  readonly generation: number
  /** Version of the request that it carries, from 1. */
  readonly requestVersion: number
  readonly hash: string
  readonly nonce: number
  readonly fees: Fees
  readonly gasLimit: bigint
  /** Wei that a rollup may charge besides gas: for the data, and for its operator. Absent: nothing, or not known. */
  readonly rollupFee?: bigint
  readonly signedAt: Moment
  readonly sends: number
  /** Absent: never sent. Patience counts from here. */
  readonly firstSent?: Since
  readonly lastSentAt?: Moment
  readonly outcome: Outcome
  readonly refusal?: Refusal
}

/** Wei that a rollup charged besides gas. Undefined: the receipt names nothing. */
export const chargedByRollup = ({ dataFee, operatorFee }: Receipt): bigint | undefined =>
  dataFee === undefined && operatorFee === undefined ? undefined : (dataFee ?? 0n) + (operatorFee ?? 0n)

/** Wei that the sender paid: for gas, and what a rollup charged besides it. */
export const paidOf = (receipt: Receipt): bigint =>
  receipt.gasUsed * receipt.effectiveGasPrice + (chargedByRollup(receipt) ?? 0n)

export const isNoop = ({ kind }: Attempt): boolean => kind === "noop"

/** Whether two attempts do the same on chain: nothing, or the same version of the request. */
export const doesTheSame = (one: Attempt, other: Attempt): boolean =>
  isNoop(one) ? isNoop(other) : !isNoop(other) && one.requestVersion === other.requestVersion

/** Whether no node that was asked ever takes it. */
export const isRefusedForGood = ({ outcome, refusal }: Attempt): boolean =>
  outcome === "refused" && refusal?.class === "permanent"

/** Whether nodes refused its price, and nothing else about it. */
export const isUnderpriced = ({ outcome, refusal }: Attempt): boolean =>
  outcome === "refused" && (refusal?.class === "bump" || refusal?.class === "price")
