// What the state machine tells the driver to do about a transaction.
import { Data } from "effect"
import type { Array as Arr } from "effect"
import type { AttemptKind } from "./Attempt.ts"
import type { Cause } from "./Cause.ts"
import type { Code } from "./Code.ts"
import type { Fees } from "./Fees.ts"
import type { Moment } from "./Moment.ts"
import type { FinalState, Intent, Mined } from "./Transaction.ts"

/** Which other transactions a held one keeps waiting: none, the later ones of its relayer, or the whole lane. */
export type Scope = "transaction" | "relayer" | "lane"

export type Command = Data.TaggedEnum<{
  /** Sign, commit, then broadcast. An original gets the lane's next nonce, everything else keeps the nonce. */
  readonly Sign: {
    readonly kind: AttemptKind
    readonly fees: Fees
    readonly gasLimit: bigint
    /** As in `Attempt`. */
    readonly rollupFee?: bigint
    readonly cause: Cause
  }
  /** Send the first of these attempts that a node accepts. */
  readonly Broadcast: { readonly ordinals: Arr.NonEmptyReadonlyArray<number> }
  /** The state stays; the code says what it waits for. */
  readonly Hold: { readonly cause: Cause; readonly scope: Scope }
  /** A no-op is to use the nonce. Decide again at once. */
  readonly Intend: {
    readonly intent: Exclude<Intent, "execute" | "cancel">
    readonly clearCode?: Code
    readonly cause: Cause
  }
  /** Record a receipt. A reverted one leaves the state `submitted`. */
  readonly Mine: { readonly mined: Mined; readonly state: "mined" | "submitted"; readonly cause: Cause }
  /** Forget the receipt: its block is gone. The state is `submitted` again. */
  readonly Unmine: { readonly cause: Cause }
  /** Back to `pending`, without a nonce: another transaction used it. `restored`: an operator decides what is next. */
  readonly Requeue: { readonly restored: boolean; readonly requeues: number; readonly cause: Cause }
  /** Find out which transaction used the nonce, then decide again. */
  readonly FindTaker: { readonly nonce: number }
  readonly PollAt: { readonly at: Moment }
  /** `losesNonce`: another transaction used the nonce, or nobody can tell. If it is open, the lane fills it like any other hole. */
  readonly Finish: { readonly state: FinalState; readonly cause: Cause; readonly losesNonce?: true }
  /** Nothing is left to do. */
  readonly Rest: {}
}>

export type Finish = Extract<Command, { readonly _tag: "Finish" }>

export const Command = Data.taggedEnum<Command>()

export type Commands = Arr.NonEmptyReadonlyArray<Command>
