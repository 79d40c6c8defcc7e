// A transaction as the ledger has it: what the state machine reads.
import type { Array as Arr } from "effect"
import type { Attempt, Receipt } from "./Attempt.ts"
import type { Cause } from "./Cause.ts"
import type { Code } from "./Code.ts"
import type { Moment } from "./Moment.ts"
import type { Speed } from "./Speed.ts"

/** `signed`: it has a nonce and bytes. `submitted`: a node accepted bytes. `mined`: a receipt that is not final was seen. */
export type OpenState = "pending" | "signed" | "submitted" | "mined"
export type FinalState = "confirmed" | "failed" | "canceled" | "expired"
export type State = OpenState | FinalState

/** What is to happen at the nonce: the request, or a no-op for one of three reasons. */
export type Intent = "execute" | "cancel" | "expire" | "clear"

/** What a caller asked for. Amounts in wei. */
export interface Request {
  /** Absent: a creation. */
  readonly to?: string
  readonly value: bigint
  readonly data?: string
  readonly gas_limit?: bigint
  readonly gas_price?: bigint
  readonly max_fee_per_gas?: bigint
  readonly max_priority_fee_per_gas?: bigint
  readonly speed?: Speed
  /** Whether the call is estimated before it is signed. Absent: if there is no `gas_limit`. */
  readonly simulate?: boolean
  /** Whether it waits for funds until its deadline. */
  readonly wait_for_funds?: boolean
}

/** Which attempt was mined, and its receipt, which is not final before the transaction is. */
export interface Mined {
  readonly ordinal: number
  readonly receipt: Receipt
}

export interface Transaction {
  /** Orders transactions by their acceptance. */
  readonly number: number
  readonly relayerNumber: number
  /** `gap`: a no-op of the service for a nonce that nothing uses. */
  readonly origin: "request" | "gap"
  /** Generation of the lane in which it got its nonce. */
  readonly generation: number
  /** Oldest first. None of them ever changes. */
  readonly versions: Arr.NonEmptyReadonlyArray<Request>
  readonly intent: Intent
  /** Why the intent is `clear`: the code that the transaction ends with. */
  readonly clearCode?: Code
  readonly state: State
  readonly cause?: Cause
  /** Since when `cause` has its code. */
  readonly causeSince: Moment
  readonly priority: number
  readonly nonce?: number
  readonly mined?: Mined
  /** The ledger may have forgotten attempts of it: it is not signed before an operator says so. */
  readonly restored: boolean
  readonly requiredNonce?: number
  readonly validUntil: Moment
  readonly notBefore?: Moment
  readonly requeues: number
  readonly createdAt: Moment
  /** By ordinal. */
  readonly attempts: ReadonlyArray<Attempt>
}

const finalStates: ReadonlySet<State> = new Set<FinalState>(["confirmed", "failed", "canceled", "expired"])

export const isFinal = ({ state }: Transaction): boolean => finalStates.has(state)

/**
 * Whether nodes hold bytes of it that are not mined. Such transactions fill the window and reserve funds. A mined one does
 * neither: it has left the pools, and the balance shows what it cost.
 */
export const isInFlight = ({ state, mined }: Transaction): boolean =>
  (state === "signed" || state === "submitted") && mined === undefined

export const newestRequest = ({ versions }: Transaction): Request => versions[versions.length - 1] ?? versions[0]

/** The version that an attempt carries. */
export const requestOf = ({ versions }: Transaction, { requestVersion }: Attempt): Request =>
  versions[requestVersion - 1] ?? versions[0]

/** The attempts at the present nonce, oldest first. Those of older nonces and generations are never sent again. */
export const currentAttempts = ({ attempts, nonce, generation }: Transaction): ReadonlyArray<Attempt> =>
  attempts.filter((attempt) => attempt.nonce === nonce && attempt.generation === generation)
