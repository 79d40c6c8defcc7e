// Cancels and replacements by callers. They never wait for a lane, so they change the ledger and not the chain.
import { Result, Schema } from "effect"
import * as Shown from "../request/Shown.ts"
import type { Violation } from "../request/Request.ts"
import type { Cause } from "./Cause.ts"
import type { Moment } from "./Moment.ts"
import { isFinal, isYielding } from "./Transaction.ts"
import type { Transaction } from "./Transaction.ts"

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

/** `validUntil`: the new deadline. Absent: the deadline stays. */
export const deadlineViolation = ({ notBefore }: Transaction, validUntil: Moment | undefined): Violation | undefined =>
  notBefore !== undefined && validUntil !== undefined && validUntil <= notBefore
    ? { field: "valid_until", message: "must be after not_before of the transaction" }
    : undefined
