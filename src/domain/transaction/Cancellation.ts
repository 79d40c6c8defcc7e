// Cancels and replacements by callers. They never wait for a lane, so they change the ledger and not the chain.
import { Result, Schema } from "effect"
import type { Violation } from "../request/Request.ts"
import * as Shown from "../request/Shown.ts"
import type { Cause } from "./Cause.ts"
import type { Family } from "./Family.ts"
import type { Moment } from "./Moment.ts"
import { isFinal, isYielding, newestRequest } from "./Transaction.ts"
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
