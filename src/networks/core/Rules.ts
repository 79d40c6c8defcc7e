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
import { Data, Result, Schema } from "effect"
import type { Array as Arr } from "effect"
import type { Network } from "../../domain/network/Network.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import type { Violation } from "../../domain/request/Request.ts"
import * as Shown from "../../domain/request/Shown.ts"
import type { Cause, Figures, KnownCode, Words } from "./Cause.ts"
import type { Family } from "./Family.ts"
import type { Identity } from "./Presentation.ts"
import { isFinal, isYielding, newestRequest } from "./Transaction.ts"
import type {
  Attempt,
  AttemptKind,
  FinalState,
  Intent,
  Lane,
  Mined,
  PolicyTerms,
  Receipt,
  RestOfLane,
  Route,
  SignerRetry,
  Terms,
  Transaction
} from "./Transaction.ts"
import type { Moment, Place, Point, TransactionId } from "./TransactionValues.ts"

// What the rules of a network tell the driver to do about a transaction.

/**
 * Which other transactions a held one keeps waiting: none, the later ones of its relayer, those of relayers with the same
 * providers, or the whole lane.
 */
export type Scope = "transaction" | "relayer" | "providers" | "lane"

/** Sign, commit, then broadcast. A pending transaction gets its place with it, everything else keeps its place. */
export interface Sign<F extends Family = Family> {
  readonly _tag: "Sign"
  readonly kind: AttemptKind
  readonly offer: F["offer"]
  /** As in `Attempt`. */
  readonly maxFee: bigint
  readonly cause: Cause
  /**
   * The bytes use the sequence after their own, too. The commit takes both: a row of the service's own, without bytes, explains the second one.
   * Absent: they use one.
   */
  readonly next?: NextRow<F>
}

/** A row of the service's own that has no bytes yet. */
export interface NextRow<F extends Family = Family> {
  readonly origin: string
  /** What bytes that use its sequence up would do: nothing. */
  readonly request: F["request"]
}

/** Ask the chain, then decide again. */
export interface Ask<F extends Family = Family> {
  readonly _tag: "Ask"
  readonly question: F["question"]
  /** The transaction keeps its place until the answer, so that later transactions ask about other places, or about none. */
  readonly takesPlace?: true
}

/** Record a receipt. A reverted one leaves the state `submitted`. */
export interface Mine<F extends Family = Family> {
  readonly _tag: "Mine"
  readonly mined: Mined<F>
  readonly state: "mined" | "submitted"
  readonly cause: Cause
}

/** The account of the place continues at this sequence. Without a receipt of it, the transaction gives its place up. */
export interface Freed {
  readonly next: bigint
  /** Everything below `next` is used on the chain, and nothing from it on: the account does not wait for a poll. */
  readonly isProven?: true
}

export interface Finish<F extends Family = Family> {
  readonly _tag: "Finish"
  readonly state: FinalState
  readonly cause: Cause
  /** The receipt, if it is final when it is first seen. */
  readonly mined?: Mined<F>
  /** Another transaction used the place, or nobody can tell. */
  readonly losesPlace?: true
  readonly frees?: Freed
  /** One provider has decided, because no other one had an opinion for long. */
  readonly confirmedBy?: 1
}

type Plain = Data.TaggedEnum<{
  /** Send the first of these attempts that a node accepts. */
  readonly Broadcast: { readonly ordinals: Arr.NonEmptyReadonlyArray<number> }
  /** The state stays; the code says what it waits for. */
  readonly Hold: { readonly cause: Cause; readonly scope: Scope }
  /** Nothing is to happen at the place. Decide again at once. */
  readonly Intend: {
    readonly intent: Exclude<Intent, "execute" | "cancel">
    readonly clearCode?: KnownCode
    readonly cause: Cause
  }
  /** An operator lets a no-op at its place offer up to this price. */
  readonly Price: { readonly clearPrice: bigint }
  /** Forget the receipt: its block is gone. The state is `submitted` again. */
  readonly Unmine: { readonly cause: Cause }
  /** Back to `pending`, without a place. `restored`: an operator decides what is next. */
  readonly Requeue: {
    readonly restored: boolean
    readonly requeues: number
    /** It has yielded, this often in all: the request is to be executed again. Absent: what is to happen stays. */
    readonly yields?: number
    readonly cause: Cause
    readonly frees?: Freed
  }
  /** Other providers get its bytes from now on, or its time as a private transaction runs. */
  readonly Reroute: { readonly route: Route }
  /** An operator says that nothing of it was executed that the ledger does not know: it goes on, and keeps its place. */
  readonly Release: { readonly cause: Cause }
  readonly PollAt: { readonly at: Moment }
  /** Nothing is left to do. */
  readonly Rest: {}
}>

export type Command<F extends Family = Family> = Sign<F> | Ask<F> | Mine<F> | Finish<F> | Plain

/** Constructors of the commands without a shape of a network. */
export const Command = Data.taggedEnum<Plain>()

export const sign = <F extends Family>(fields: Omit<Sign<F>, "_tag">): Sign<F> => ({ _tag: "Sign", ...fields })

export const ask = <F extends Family>(question: F["question"], more: Pick<Ask<F>, "takesPlace"> = {}): Ask<F> => ({
  _tag: "Ask",
  question,
  ...more
})

export const mine = <F extends Family>(fields: Omit<Mine<F>, "_tag">): Mine<F> => ({ _tag: "Mine", ...fields })

export const finish = <F extends Family>(fields: Omit<Finish<F>, "_tag">): Finish<F> => ({ _tag: "Finish", ...fields })

export type Commands<F extends Family = Family> = Arr.NonEmptyReadonlyArray<Command<F>>

// One decision: a transaction, its lane, what was seen of the chain, and the time. Rows of a table decide; the first that
// holds wins.

/** No provider answered. */
export interface Unreachable {
  readonly _tag: "Unreachable"
  readonly code: "providers_unavailable" | "rate_limited"
  readonly retryAt: Moment
  /** A provider, masked, and what it did not answer. Absent: nobody was asked, or the network does not say. */
  readonly figures?: Pick<Figures, "host" | "error">
}

/** What is the same for all transactions of a lane. */
export interface LaneSituation<F extends Family = Family> {
  readonly lane: Lane<F>
  /** What keeps the whole lane from giving away places. */
  readonly stop?: Cause
  /** Whether the place of a final transaction is open again. */
  readonly isDeepReorg: boolean
  /** Why the signer cannot sign, and when it is asked again. Absent: it can. */
  readonly signerRetry?: SignerRetry
}

/** Why transactions get no place while their providers are in doubt. It applies only to relayers with the same providers. */
export interface OwnDoubt {
  /** The reason, if no transaction of these relayers gets a place. */
  readonly ownStop?: Cause
  /** Transactions that the service accepted before this moment get no place yet. */
  readonly unsettledBefore?: Moment
}

export interface Situation<F extends Family = Family, V = F["seen"] | Unreachable> extends LaneSituation<F>, OwnDoubt {
  readonly transaction: Transaction<F>
  readonly terms: Terms<F>
  readonly rest: RestOfLane<F>
  readonly view: V
  readonly now: Moment
}

/** Whether the transaction was accepted before a start of the database, and no poll of its providers is younger than the start. */
export const isUnsettled = ({ createdAt }: Pick<Transaction, "createdAt">, before: Moment | undefined): boolean =>
  before !== undefined && createdAt < before

/** Undefined: the row does not hold. */
export type Row<F extends Family, V = F["seen"] | Unreachable> = (situation: Situation<F, V>) => Commands<F> | undefined

/** The commands of the first row that holds, else those of `otherwise`. */
export const firstOf =
  <F extends Family, V>(rows: ReadonlyArray<Row<F, V>>, otherwise: (situation: Situation<F, V>) => Commands<F>) =>
  (situation: Situation<F, V>): Commands<F> => {
    for (const row of rows) {
      const commands = row(situation)
      if (commands !== undefined) return commands
    }
    return otherwise(situation)
  }

// Cancels and replacements by callers. They never wait for a lane, so they change the ledger and not the chain.

/** The transaction is in a state that does not allow it. */
export class TransactionConflict extends Schema.TaggedError<TransactionConflict>()("TransactionConflict", {
  /** Names the state and what is possible. */
  error: Shown.Words
}) {
  override readonly message = this.error
}

/**
 * - `finish`: nothing of it was ever signed. Only this promises at once that there is no effect.
 * - `intend`: nothing is to happen at its place, unless its own bytes are mined first.
 * - `unchanged`: it is being ended already.
 */
export type Cancellation =
  | { readonly _tag: "finish" }
  | { readonly _tag: "intend"; readonly intent: "cancel"; readonly cause: Cause }
  | { readonly _tag: "unchanged" }

/** What is the same for all networks: a conflict, or nothing that is left to do. Undefined: the network decides. */
export const cancelOpen = (
  transaction: Transaction
): Result.Result<Extract<Cancellation, { readonly _tag: "unchanged" }>, TransactionConflict> | undefined => {
  const { state, intent } = transaction
  if (isFinal(transaction) || state === "mined") {
    return Result.fail(new TransactionConflict({ error: `is ${state}: only an open transaction can be canceled` }))
  }
  return intent === "execute" || isYielding(transaction) ? undefined : Result.succeed({ _tag: "unchanged" })
}

/**
 * What a cancel does that must send nothing: it ends a transaction of which nothing was signed, and refuses every other one. A
 * transaction that is canceled already has no effect, so a repetition is answered as the first request was.
 */
export const cancelUnsigned = <F extends Family>(
  { cancel }: Pick<Rules<F>, "cancel">,
  transaction: Transaction<F>
): Result.Result<Cancellation, TransactionConflict> => {
  if (transaction.state === "canceled") return Result.succeed({ _tag: "unchanged" })
  const error =
    "was signed, or may have been: only_pending cancels only what can have no effect; without only_pending, the service tries to prevent the effect"
  return Result.filterOrFail(
    cancel(transaction),
    ({ _tag }) => _tag === "finish",
    () => new TransactionConflict({ error })
  )
}

/** Whether a new version can still win. Versions before it that were sent may win all the same. */
export const canReplace = (transaction: Transaction): Result.Result<void, TransactionConflict> => {
  const { state, intent, mined } = transaction
  const refuse = (error: string) => Result.fail(new TransactionConflict({ error }))
  if (isFinal(transaction) || state === "mined") return refuse(`is ${state}: only an open transaction can be replaced`)
  if (intent !== "execute")
    return refuse("is being canceled, expired or cleared, or yields its place: it cannot be replaced")
  if (mined !== undefined) return refuse("was mined and reverted: it cannot be replaced")
  return Result.succeed(undefined)
}

/** Why a transaction cannot have this deadline. `validUntil`: absent if the deadline stays. */
export const deadlineViolations = (
  { notBefore }: Transaction,
  validUntil: Moment | undefined
): ReadonlyArray<Violation> =>
  notBefore !== undefined && validUntil !== undefined && validUntil <= notBefore
    ? [{ field: "valid_until", message: "must be after not_before of the transaction" }]
    : []

/** A family whose requests say whether they wait for funds. */
interface FundedFamily extends Family {
  readonly request: { readonly wait_for_funds?: boolean | undefined }
}

/** The transaction with a new version. A request without `wait_for_funds` keeps that of the former version. */
export const replaced = <F extends FundedFamily>(
  transaction: Transaction<F>,
  request: F["request"],
  validUntil: Moment = transaction.validUntil
): Transaction<F> => {
  const [first, ...others] = transaction.versions
  const { wait_for_funds } = newestRequest(transaction)
  const version = wait_for_funds === undefined ? request : { wait_for_funds, ...request }
  return { ...transaction, versions: [first, ...others, version], validUntil }
}

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

/** Which providers get bytes. `private`: no other ones, also not those of other relayers. `both`: the normal ones and the private ones. */
export type Destination = "public" | "private" | "both"

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
   * Other accounts whose authorizations the request carries: two open transactions of a chain cannot have the same account, because the first
   * that is mined uses the authorization up. Absent: there is no such thing.
   */
  authoritiesOf?(request: F["request"]): ReadonlyArray<string>

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
  /** Whether bytes must not leave yet, because of others of the lane. Absent: they leave as soon as they are committed. */
  isHeldBack?(transaction: Transaction<F>, attempt: Attempt<F>, lane: Lane<F>, survey: F["survey"]): boolean
  /** Which providers get the bytes. Absent: all of them are public. */
  destinationOf?(transaction: Transaction<F>, attempt: Attempt<F>): Destination
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

  /**
   * What a request changes about its account besides what it sends, as the audit log records it of the relayer. Undefined: nothing. Absent: no
   * request does.
   */
  accountChangeOf?(
    request: F["request"]
  ): { readonly action: "relayer.delegated" | "relayer.undelegated"; readonly delegate: string } | undefined

  /** What the account of the lane delegates to, and what a check has found changed since. Undefined: nothing. Absent: accounts do not delegate. */
  delegationOf?(lane: Lane<F>): { readonly address: string; readonly changed?: string } | undefined

  /** Absent: transactions of the network do not show which one in front they wait for. */
  readonly predecessors?: Predecessors<F>
  /** Why a transaction is in its state, and what happens next. */
  explain(cause: Cause, isFinal: boolean): Words
  /** `raw`: the bytes of the attempt that is shown. Absent: its signature is not shown. */
  show(transaction: Transaction<F>, identity: Identity, raw?: Uint8Array): F["shown"]
}
