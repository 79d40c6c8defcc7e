// What the rules of a network tell the driver to do about a transaction.
import { Data } from "effect"
import type { Array as Arr } from "effect"
import type { AttemptKind } from "./Attempt.ts"
import type { Cause } from "./Cause.ts"
import type { KnownCode } from "./Code.ts"
import type { Family } from "./Family.ts"
import type { Moment } from "./Moment.ts"
import type { FinalState, Intent, Mined } from "./Transaction.ts"

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
