// What callers may still change about an evm transaction that may have been sent.
import { Result } from "effect"
import type { Violation } from "../../request/Request.ts"
import { cause } from "../Cause.ts"
import { cancelOpen, deadlineViolations } from "../Rules.ts"
import type { Cancellation, TransactionConflict } from "../Rules.ts"
import { currentAttempts } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"
import type { Moment } from "../TransactionValues.ts"
import type { Evm, Request } from "./Evm.ts"
import { highest, isReplacement, maxFeeOf, minimumReplacement, tipOf } from "./Fees.ts"
import { givenFees } from "./Offer.ts"

const intend: Cancellation = { _tag: "intend", intent: "cancel", cause: cause("canceling") }

/** With a nonce, a no-op is to use it. */
export const cancel = (transaction: Transaction<Evm>): Result.Result<Cancellation, TransactionConflict> => {
  const decided = cancelOpen(transaction)
  if (decided !== undefined) return decided
  if (transaction.state !== "pending") return Result.succeed(intend)
  // Its bytes may be out although the ledger does not know of them: an operator decides.
  if (transaction.restored) return Result.succeed({ ...intend, cause: cause("restored_unproven") })
  return Result.succeed({ _tag: "finish" })
}

/** Given fees have to replace what was sent. Undefined: they do, or the request gives none. */
export const feeViolation = (transaction: Transaction<Evm>, request: Request): Violation | undefined => {
  const given = givenFees(request)
  const [first, ...others] = currentAttempts(transaction)
  if (given === undefined || first === undefined) return undefined
  const former = highest(first.offer.fees, ...others.map(({ offer }) => offer.fees))
  if (isReplacement(given, former)) return undefined
  const minimum = minimumReplacement(former)
  return given.type === "legacy"
    ? { field: "gas_price", message: `must be at least ${maxFeeOf(minimum)} to replace what was sent` }
    : {
        field: "max_fee_per_gas",
        message: `must be at least ${maxFeeOf(minimum)}, and max_priority_fee_per_gas at least ${tipOf(minimum)}, to replace what was sent`
      }
}

/** `validUntil`: the new deadline. Absent: the deadline stays. */
export const replacementViolations = (
  transaction: Transaction<Evm>,
  request: Request,
  validUntil: Moment | undefined
): ReadonlyArray<Violation> => {
  const fee = feeViolation(transaction, request)
  return [...(fee === undefined ? [] : [fee]), ...deadlineViolations(transaction, validUntil)]
}
