// A transaction as the ledger has it: what the state machine reads.
import type { Array as Arr } from "effect"
import type { Attempt, Receipt } from "./Attempt.ts"
import { cause } from "./Cause.ts"
import type { Cause } from "./Cause.ts"
import type { Code } from "./Code.ts"
import type { Family } from "./Family.ts"
import type { Moment } from "./Moment.ts"
import { isSamePlace } from "./Place.ts"
import type { Place } from "./Place.ts"

/** `signed`: it has a place and bytes. `submitted`: a node accepted bytes. `mined`: a receipt that is not final was seen. */
type OpenState = "pending" | "signed" | "submitted" | "mined"
export type FinalState = "confirmed" | "failed" | "canceled" | "expired"
export type State = OpenState | FinalState

/** What is to happen at the place: the request, or nothing for one of three reasons. */
export type Intent = "execute" | "cancel" | "expire" | "clear"

/** Which attempt was mined, and its receipt, which is not final before the transaction is. */
export interface Mined<F extends Family = Family> {
  /** Absent: bytes of somebody else executed the request. */
  readonly ordinal?: number
  readonly receipt: Receipt<F>
}

export interface Transaction<F extends Family = Family> {
  /** Orders transactions by their acceptance. */
  readonly number: number
  readonly relayerNumber: number
  /** `request`: a caller sent it. Anything else is a row of the service's own, such as `gap`; each network has its list. */
  readonly origin: string
  /** Generation of the lane in which it got its place. */
  readonly generation: number
  /** Oldest first. None of them ever changes. */
  readonly versions: Arr.NonEmptyReadonlyArray<F["request"]>
  readonly facts: F["facts"]
  readonly intent: Intent
  /** Why the intent is `clear`: the code that the transaction ends with. */
  readonly clearCode?: Code
  /**
   * What an operator lets a no-op at its place offer at most, in the smallest unit of the chain per unit of work. Absent: the
   * rules of the network decide.
   */
  readonly clearPrice?: bigint
  readonly state: State
  readonly cause?: Cause
  /** Since when `cause` has its code. */
  readonly causeSince: Moment
  readonly priority: number
  /** Absent: it has none, or it has given it up. */
  readonly place?: Place
  readonly mined?: Mined<F>
  /** How many providers have decided that it is final, if fewer than are required. */
  readonly confirmedBy?: number
  /** The ledger may have forgotten attempts of it: it is not signed before an operator says so. */
  readonly restored: boolean
  /** The sequence that the request requires. Absent: any. */
  readonly requiredSequence?: bigint
  readonly validUntil: Moment
  readonly notBefore?: Moment
  readonly requeues: number
  /** How often it has given up its place so that those behind it go on. Absent: never. */
  readonly yields?: number
  /** Fees of the no-ops at the places that it has given up, in the smallest unit of the chain. Absent: none. */
  readonly paidBefore?: bigint
  readonly createdAt: Moment
  /** By ordinal. */
  readonly attempts: ReadonlyArray<Attempt<F>>
}

export const finalStates: ReadonlyArray<FinalState> = ["confirmed", "failed", "canceled", "expired"]

const isFinalState: ReadonlySet<State> = new Set(finalStates)

export const isFinal = ({ state }: Pick<Transaction, "state">): boolean => isFinalState.has(state)

/**
 * Whether nodes hold bytes of it that are not mined. Such transactions fill the window and reserve funds. A mined one does
 * neither: it has left the pools, and the balance shows what it cost.
 */
export const isInFlight = ({ state, mined }: Pick<Transaction, "state" | "mined">): boolean =>
  (state === "signed" || state === "submitted") && mined === undefined

export const newestRequest = <F extends Family>({ versions }: Transaction<F>): F["request"] =>
  versions[versions.length - 1] ?? versions[0]

/**
 * Whether nothing is to happen at its place, and the request goes on without it afterwards. It is stored as a reason to clear:
 * a version of the service that does not know the reason ends the transaction as failed, without an effect.
 */
export const isYielding = ({ intent, clearCode }: Pick<Transaction, "intent" | "clearCode">): boolean =>
  intent === "clear" && clearCode === "yielding"

/** The version that an attempt carries. */
export const requestOf = <F extends Family>(
  { versions }: Transaction<F>,
  { requestVersion }: Pick<Attempt, "requestVersion">
): F["request"] => versions[requestVersion - 1] ?? versions[0]

/** The attempts at the present place, oldest first. Those of older places and generations are never sent again. */
export const currentAttempts = <F extends Family>({
  attempts,
  place,
  generation
}: Transaction<F>): ReadonlyArray<Attempt<F>> =>
  attempts.filter((attempt) => isSamePlace(attempt.place, place) && attempt.generation === generation)

/** What a transaction begins with, whoever makes it: it waits, and has no bytes. */
export const beginning = <
  Own extends Pick<
    Transaction,
    "number" | "relayerNumber" | "origin" | "generation" | "versions" | "facts" | "priority" | "validUntil"
  >
>(
  own: Own,
  now: Moment
) => ({
  ...own,
  intent: "execute" as const,
  state: "pending" as const,
  cause: cause("queued"),
  causeSince: now,
  restored: false,
  requeues: 0,
  createdAt: now,
  attempts: []
})
