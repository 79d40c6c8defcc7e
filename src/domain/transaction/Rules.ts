// What the neutral modules ask of a network when they decide. The folders `evm/`, `solana/` and `stellar/` implement it, and no
// neutral module knows their shapes.
//
// - family: the shapes of one network type
// - rules: the pure functions of a network type; they read and return shapes of its family
// - lane: the transactions of one account on one chain, in one order
// - place: an account of the lane, and a sequence there, where the bytes of a transaction count
// - sequence: the number that orders the transactions of an account; on evm it is the nonce
// - attempt: one signed version of a transaction
// - offer: what an attempt pays, and until when it is valid
// - filler: bytes that use up a sequence which no transaction has
// - foreign: a transaction of the account that no attempt of the ledger names
import type { Result, Schema } from "effect"
import type { Network } from "../network/Network.ts"
import type { Relayer } from "../relayer/Relayer.ts"
import type { Violation } from "../request/Request.ts"
import type { Attempt, Receipt } from "./Attempt.ts"
import type { Cancellation, TransactionConflict } from "./Cancellation.ts"
import type { Cause } from "./Cause.ts"
import type { Command, Commands, Finish } from "./Command.ts"
import type { Words } from "./Explanation.ts"
import type { Family } from "./Family.ts"
import type { Lane, PolicyTerms, Terms } from "./Lane.ts"
import type { Moment, Point } from "./Moment.ts"
import type { Place } from "./Place.ts"
import type { Identity } from "./Presentation.ts"
import type { Situation } from "./Situation.ts"
import type { Transaction } from "./Transaction.ts"
import type { TransactionId } from "./TransactionId.ts"

/** A relayer and its network, as policies and numbers are read from them. */
interface Target {
  readonly relayer: Relayer
  readonly network: Network
}

/** What an operator can say about a transaction whose fate cannot be proven. */
export type Answer = "send" | "give_up"

/** Names a lane: the chain, such as `evm:8453`, and the address in the canonical form of the network. */
export interface LaneKey {
  readonly chain: string
  readonly address: string
}

/** What a broadcast made of an attempt. */
export interface Heard<F extends Family = Family> {
  readonly attempt: Attempt<F>
  /** Whether a node took it: a transaction that is `signed` becomes `submitted`. */
  readonly isAccepted: boolean
  /** Whether an older attempt that does the same is worth a try. */
  readonly triesOlder: boolean
  /** Whether a node has too many transactions of the account: the window is halved. */
  readonly isWindowFull: boolean
  /** What follows at once. */
  readonly follows?: Command<F>
}

/** The transaction in front of another one that the other one shows as its reason to wait. */
export interface Predecessors<F extends Family = Family> {
  /**
   * `in_flight`: the one in flight with the lowest sequence. `pending`: the first that can get a sequence below the required one.
   * Undefined: it waits for no other.
   */
  frontOf(transaction: Transaction<F>): "in_flight" | "pending" | undefined
  /** `id`: of the one in front. Absent if the caller may not know it. Undefined: it does not wait for that one. */
  causeBehind(transaction: Transaction<F>, front: Transaction<F>, id: TransactionId | undefined): Cause | undefined
}

/** If more than `percent` % of the newest `of` landed transactions failed, the key is held for `hold` after the last failure. */
interface FailingLimit {
  readonly of: number
  readonly percent: number
  /** Milliseconds. */
  readonly hold: number
}

/** Pure and total: no effects, no exceptions. Amounts are integers in the smallest unit of the chain. */
export interface Rules<F extends Family = Family> {
  readonly type: F["type"]

  // What is stored: JSON in which amounts are strings of digits.
  readonly request: Schema.Codec<F["request"], unknown>
  readonly facts: Schema.Codec<F["facts"], unknown>
  readonly offer: Schema.Codec<F["offer"], unknown>
  readonly refusal: Schema.Codec<F["refusal"], unknown>
  readonly counters: Schema.Codec<F["counters"], unknown>
  readonly receipt: Schema.Codec<Receipt<F>, unknown>
  readonly shown: Schema.Codec<F["shown"], unknown>

  /** Undefined: the relayer or its network is of another type. */
  targetOf(target: Target): F["target"] | undefined
  /** The lane of a relayer, and how many transactions of it may be in flight at most. */
  laneOf(target: F["target"]): LaneKey & { readonly window: number }
  /** Milliseconds between two polls of a lane with open transactions. */
  pollInterval(target: F["target"]): number
  /** What the audit log records of a request. Call data can be secret: it stays out of the log. */
  auditedOf(request: F["request"]): Readonly<Record<string, unknown>>
  /** Two requests with the same identity are the same bytes. Undefined: there is no such thing. */
  identityOf(request: F["request"], facts: F["facts"]): string | undefined
  /** Two open transactions of a lane cannot have the same. Undefined: it excludes nothing. */
  exclusiveOf(request: F["request"], facts: F["facts"]): string | undefined

  /**
   * The facts of a transaction whose bytes a caller got signed before. Absent: the network gives no signatures, or never takes
   * them over.
   */
  withGiven?(facts: F["facts"], given: { readonly hash: string; readonly offer: F["offer"] }): F["facts"]

  /** When an API key is held because too many of its prebuilt transactions failed on the chain. Absent: never. */
  readonly failing?: FailingLimit

  /** What policy and network allow the transaction now. `address`: the first account of the lane. */
  termsOf(target: F["target"], transaction: Transaction<F>, address: string): PolicyTerms<F>
  /** What one pass over the open transactions of a lane finds out for the decision about each of them. */
  survey(open: ReadonlyArray<Transaction<F>>): F["survey"]
  /** Where a pending transaction is signed next. Undefined: there is no room for it now. */
  placeOf(lane: Lane<F>, transaction: Transaction<F>, terms: Terms<F>): Place | undefined
  /** At least one command, from every state that the ledger can have. */
  decide(situation: Situation<F>): Commands<F>
  /** Fees and value that an attempt takes from the balance at most. Undefined request: it executes nothing. */
  costOf(request: F["request"] | undefined, offer: F["offer"]): bigint
  /** The fees alone. */
  maxFeeOf(offer: F["offer"]): bigint
  /** What the answers to a broadcast mean. No answers: no provider could be asked. */
  hear(transaction: Transaction<F>, attempt: Attempt<F>, answers: ReadonlyArray<F["answer"]>, at: Point): Heard<F>
  /** Whether a transaction of the account that no attempt names could be this one. */
  couldBe(transaction: Transaction<F>, foreign: F["foreign"]): boolean

  /** Whether a new version can still win. Absent: it can while the transaction is open, not mined, and not being ended. */
  canReplace?(transaction: Transaction<F>): Result.Result<void, TransactionConflict>
  /** What nodes said last about its bytes, if they took none of them. Absent: the end of a transaction does not name it. */
  refusedLast?(transaction: Transaction<F>): string | undefined
  /** Why a new version of the request cannot replace the former ones. Empty: it can. */
  replacementViolations(
    transaction: Transaction<F>,
    request: F["request"],
    validUntil: Moment | undefined
  ): ReadonlyArray<Violation>
  /** The transaction with a new version. */
  replaced(transaction: Transaction<F>, request: F["request"], validUntil?: Moment): Transaction<F>
  cancel(transaction: Transaction<F>): Result.Result<Cancellation, TransactionConflict>
  /** Whether bytes of a pending transaction exist outside of its attempts, so that no deadline ends it. Absent: never. */
  isGiven?(transaction: Transaction<F>): boolean
  /**
   * What an operator's answer makes of a transaction that waits for one. `usedBelow`: every provider that answers counts the
   * sequences of the account below this one as used and final. Absent: the answer counts as `resolve` of `Restore.ts` says.
   */
  resolve?(
    transaction: Transaction<F>,
    answer: Answer,
    known: { readonly lane: Lane<F>; readonly now: Moment; readonly usedBelow: bigint }
  ): Result.Result<Command<never>, TransactionConflict>
  /**
   * What follows if the ledger has the signature of these bytes already. Undefined: they are signed again later, with other bytes.
   * Absent: bytes of two transactions are never the same, because each has its own sequence.
   */
  repeated?(transaction: Transaction<F>): Finish<never> | undefined

  /** Absent: transactions of the network do not show which one in front they wait for. */
  readonly predecessors?: Predecessors<F>
  /** Why a transaction is in its state, and what happens next. */
  explain(cause: Cause, isFinal: boolean): Words
  /** `raw`: the bytes of the attempt that is shown. Absent: its signature is not shown. */
  show(transaction: Transaction<F>, identity: Identity, raw?: Uint8Array): F["shown"]
}
