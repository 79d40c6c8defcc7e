// A transaction as the ledger has it, with its attempts and the lane that it belongs to: what the state machine reads.
import type { Array as Arr } from "effect"
import { cause } from "./Cause.ts"
import type { Cause, Code, KnownCode } from "./Cause.ts"
import type { Family } from "./Family.ts"
import { isSamePlace } from "./TransactionValues.ts"
import type { Moment, Place, Point } from "./TransactionValues.ts"

// Attempts: the signed versions of a transaction. What left may be mined, so none of them is ever forgotten.

/** `bump`, `replace` and `refresh` execute the request, like `original`; a raised no-op is a `noop` again. */
export type AttemptKind = "original" | "bump" | "replace" | "noop" | "refresh"

export interface Receipt<F extends Family = Family> {
  /** The number of the block, slot or ledger that contains the transaction. */
  readonly height: number
  /** Absent: the chain does not name it. */
  readonly blockHash?: string
  readonly isSuccess: boolean
  /** What the sender has paid in fees, in the smallest unit of the chain. */
  readonly paid: bigint
  readonly details: F["details"]
}

/** `unknown`: it may have left or not. `accepted` and `refused` are the newest answers of nodes. */
type Outcome = "unknown" | "accepted" | "refused"

export interface Attempt<F extends Family = Family> {
  /** From 1, over all places of the transaction. */
  readonly ordinal: number
  readonly kind: AttemptKind
  readonly generation: number
  /** Version of the request that it carries, from 1. */
  readonly requestVersion: number
  readonly hash: string
  readonly place: Place
  readonly offer: F["offer"]
  /** The most that it can cost in fees, in the smallest unit of the chain. */
  readonly maxFee: bigint
  readonly signedAt: Moment
  readonly sends: number
  /** Absent: never sent. Patience counts from here. */
  readonly firstSent?: Point
  readonly lastSentAt?: Moment
  readonly outcome: Outcome
  readonly refusal?: F["refusal"]
}

/** The attempt after a broadcast of its bytes. An earlier refusal does not count any more. */
export const afterSend = <F extends Family>(
  attempt: Attempt<F>,
  at: Point,
  { outcome, refusal }: { readonly outcome: Outcome; readonly refusal: F["refusal"] | undefined }
): Attempt<F> => {
  const { refusal: _, ...former } = attempt
  return {
    ...former,
    sends: attempt.sends + 1,
    firstSent: attempt.firstSent ?? at,
    lastSentAt: at.at,
    outcome,
    ...(refusal === undefined ? {} : { refusal })
  }
}

export const isNoop = ({ kind }: Pick<Attempt, "kind">): boolean => kind === "noop"

/** Whether two attempts do the same on chain: nothing, or the same version of the request. */
export const doesTheSame = (one: Attempt, other: Attempt): boolean =>
  isNoop(one) ? isNoop(other) : !isNoop(other) && one.requestVersion === other.requestVersion

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

/** Which providers get the bytes that execute a request. A transaction without a route is public. */
export interface Route {
  /** `private`: only private providers, until it is mined or falls back. `fell_back`: it was private, and is public from then on. */
  readonly kind: "private" | "fell_back"
  /** Milliseconds for which it waits at the chain's count before it falls back by itself. Absent: it does not. */
  readonly fallbackAfter?: number
  /** `normal`: normal providers may see its call, to estimate it. Absent: only private ones may. */
  readonly estimates?: "normal"
  /**
   * `private`: since when it waits at the chain's count, and was sent there; of a restored one without a place, when the restore was noticed.
   * `fell_back`: since when it is public. Absent: it does not wait.
   */
  readonly since?: Moment
  /** Since when a normal provider has it, although the service gave it to private ones alone. Absent: none has shown it. */
  readonly seenPublicly?: Moment
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
  /** Absent: it is public. */
  readonly route?: Route
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

/** The first state of a transaction in every ledger: it waits, and has no bytes. */
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

// A lane, also called an account's queue: the order in which transactions of one account are signed and sent.

/** An account whose sequences the lane gives away. Always `settledSequence <= chainSequence <= nextSequence`. */
export interface LaneAccount<F extends Family = Family> {
  /** In the canonical form of the network. */
  readonly address: string
  /** The sequence that is given away next. */
  readonly nextSequence: bigint
  /** The lowest sequence that the chain has not used, as it was last believed. */
  readonly chainSequence: bigint
  /** The block at which `chainSequence` was read. Absent: no poll in this generation yet. */
  readonly chainBlock?: { readonly number: number; readonly hash: string }
  /** Everything below it is final. */
  readonly settledSequence: bigint
  /** Absent: the network remembers nothing else. */
  readonly counters?: F["counters"]
  /** What checks besides the polls of the lane have found out. Absent: nothing. */
  readonly watched?: Watched
}

/** What a check has found out about something that an account of a lane rests on, such as a delegation. */
export interface Watched {
  /** The sequence of the transaction that made what was checked. What is about another one does not count. */
  readonly sequence: bigint
  readonly at: Moment
  /** What differs from what was recorded. Absent: nothing. */
  readonly changed?: string
  /** Since when. */
  readonly since?: Moment
}

export const isSameWatched = (one: Watched | undefined, other: Watched | undefined): boolean =>
  one?.sequence === other?.sequence &&
  one?.at === other?.at &&
  one?.changed === other?.changed &&
  one?.since === other?.since

/** What the ledger has of a lane. */
export interface Lane<F extends Family = Family> {
  readonly generation: number
  /** Transactions that may be in flight at once, at present. */
  readonly windowSize: number
  /** The first one is the relayer's own. */
  readonly accounts: Arr.NonEmptyReadonlyArray<LaneAccount<F>>
}

/** The account with this address. Undefined: it is a foreign one. */
export const accountAt = <F extends Family>({ accounts }: Lane<F>, address: string): LaneAccount<F> | undefined =>
  accounts.find((account) => account.address === address)

/** The lane after an account has changed. */
export const withAccount = <F extends Family>(lane: Lane<F>, changed: LaneAccount<F>): Lane<F> => {
  const [first, ...others] = lane.accounts
  const replaced = (account: LaneAccount<F>) => (account.address === changed.address ? changed : account)
  return { ...lane, accounts: [replaced(first), ...others.map(replaced)] }
}

/** What a relayer's policy means for one of its transactions now. Amounts in the smallest unit of the chain. */
export type PolicyTerms<F extends Family = Family> = F["terms"] & {
  /** Whether the policy still allows the transaction. */
  readonly isAllowed: boolean
  /** What must stay on the account. */
  readonly minBalance: bigint
}

/** An API key gets no signature: too many of its newest transactions failed on the chain, and the relayer paid for them. */
export interface KeyHold {
  readonly failed: number
  /** The number of newest transactions that were counted. */
  readonly of: number
  readonly until: Moment
}

/** What a relayer's policy and state, and the limits of the API key, mean for one of its transactions now. */
export type Terms<F extends Family = Family> = PolicyTerms<F> & {
  readonly isPaused: boolean
  /** Why the service has disabled the relayer, as a code. A lack of funds or of the account disables nothing here: polls decide. */
  readonly disabled?: "relayer_disabled" | "providers_unavailable" | "chain_changed"
  /** What the limits of the API key leave for the fees of this transaction. Absent: no limit. */
  readonly feeLimit?: bigint
  /** Absent: the API key is not held. */
  readonly keyHold?: KeyHold
}

/** The rest of the lane, as one of its open transactions sees it. */
export interface RestOfLane<F extends Family = Family> {
  /** Transactions of the lane in flight, this one included. */
  readonly inFlight: number
  /** What the others in flight can cost at most, in the smallest unit of the chain. */
  readonly reserved: bigint
  /** Whether another transaction of the lane is pending that could get a sequence below the required one. */
  readonly isPendingBefore: boolean
  /** When a transaction of the lane last got a place. Absent: not in memory. */
  readonly lastSignedAt?: Moment | undefined
  /** Since when nothing of the lane is in flight. Absent: something is. */
  readonly quietSince?: Moment | undefined
  readonly survey: F["survey"]
}

/**
 * `throttled`: the key service of the signer accepts no more requests now. `row_changed`: the row of the signer differs from
 * what the service wrote.
 */
export interface SignerRetry {
  readonly code: Extract<KnownCode, "signer_unavailable" | "throttled" | "row_changed">
  readonly at: Moment
}

/** The window after a node has refused a transaction because the account has too many. */
export const halved = (size: number): number => Math.max(Math.floor(size / 2), 1)

/** The window after `blocks` in each of which a transaction of the lane was mined. */
export const grown = (size: number, blocks: number, limit: number): number => Math.min(size + blocks, limit)
