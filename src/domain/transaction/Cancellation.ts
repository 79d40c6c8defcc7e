// Cancels and replacements by callers. They never wait for a lane, so they change the ledger and not the chain.
import { Result, Schema } from "effect"
import * as Shown from "../request/Shown.ts"
import { cause } from "./Cause.ts"
import type { Cause } from "./Cause.ts"
import { Command } from "./Command.ts"
import { highest, isReplacement, maxFeeOf, minimumReplacement, tipOf } from "./Fees.ts"
import type { Moment } from "./Moment.ts"
import { givenFees } from "./Offer.ts"
import type { Violation } from "../request/Request.ts"
import { currentAttempts, isFinal, newestRequest } from "./Transaction.ts"
import type { Request, Transaction } from "./Transaction.ts"

/** The transaction is in a state that does not allow it. */
export class TransactionConflict extends Schema.TaggedError<TransactionConflict>()("TransactionConflict", {
  /** Names the state and what is possible. */
  error: Shown.Words
}) {
  override readonly message = this.error
}

/**
 * - `finish`: it had no nonce. Only this promises that there is no effect.
 * - `intend`: a no-op will use its nonce, unless its own bytes are mined first.
 * - `unchanged`: a no-op is on its way already.
 */
export type Cancellation =
  | { readonly _tag: "finish"; readonly command: Command }
  | { readonly _tag: "intend"; readonly intent: "cancel"; readonly cause: Cause }
  | { readonly _tag: "unchanged" }

const intend: Cancellation = { _tag: "intend", intent: "cancel", cause: cause("canceling") }

export const cancel = (transaction: Transaction): Result.Result<Cancellation, TransactionConflict> => {
  const { state, restored, intent } = transaction
  if (isFinal(transaction) || state === "mined") {
    return Result.fail(new TransactionConflict({ error: `is ${state}: only an open transaction can be canceled` }))
  }
  if (intent !== "execute") return Result.succeed({ _tag: "unchanged" })
  if (state !== "pending") return Result.succeed(intend)
  // Its bytes may be out although the ledger does not know of them: an operator decides.
  if (restored) return Result.succeed({ ...intend, cause: cause("restored_unproven") })
  const command = Command.Finish({ state: "canceled", cause: cause("canceled") })
  return Result.succeed({ _tag: "finish", command })
}

/** Whether a new version can still win. Versions before it that were sent may win all the same. */
export const canReplace = (transaction: Transaction): Result.Result<void, TransactionConflict> => {
  const { state, intent, mined } = transaction
  const refuse = (error: string) => Result.fail(new TransactionConflict({ error }))
  if (isFinal(transaction) || state === "mined") return refuse(`is ${state}: only an open transaction can be replaced`)
  if (intent !== "execute") return refuse("is being canceled, expired or cleared: it cannot be replaced")
  if (mined !== undefined) return refuse("was mined and reverted: it cannot be replaced")
  return Result.succeed(undefined)
}

/** Given fees have to replace what was sent. Undefined: they do, or the request gives none. */
export const feeViolation = (transaction: Transaction, request: Request): Violation | undefined => {
  const given = givenFees(request)
  const [first, ...others] = currentAttempts(transaction)
  if (given === undefined || first === undefined) return undefined
  const former = highest(first.fees, ...others.map(({ fees }) => fees))
  if (isReplacement(given, former)) return undefined
  const minimum = minimumReplacement(former)
  return given.type === "legacy"
    ? { field: "gas_price", message: `must be at least ${maxFeeOf(minimum)} to replace what was sent` }
    : {
        field: "max_fee_per_gas",
        message: `must be at least ${maxFeeOf(minimum)}, and max_priority_fee_per_gas at least ${tipOf(minimum)}, to replace what was sent`
      }
}

const deadlineViolation = ({ notBefore }: Transaction, validUntil: Moment | undefined): Violation | undefined =>
  notBefore !== undefined && validUntil !== undefined && validUntil <= notBefore
    ? { field: "valid_until", message: "must be after not_before of the transaction" }
    : undefined

/** `validUntil`: the new deadline. Absent: the deadline stays. */
export const replacementViolations = (
  transaction: Transaction,
  request: Request,
  validUntil: Moment | undefined
): ReadonlyArray<Violation> =>
  [feeViolation(transaction, request), deadlineViolation(transaction, validUntil)].filter(
    (violation) => violation !== undefined
  )

/** The transaction with a new version. A request without `wait_for_funds` keeps that of the former version. */
export const replaced = (
  transaction: Transaction,
  request: Request,
  validUntil: Moment = transaction.validUntil
): Transaction => {
  const [first, ...others] = transaction.versions
  const { wait_for_funds } = newestRequest(transaction)
  const version = wait_for_funds === undefined ? request : { wait_for_funds, ...request }
  return { ...transaction, versions: [first, ...others, version], validUntil }
}
