// Why an envelope is not signed: a code for programs, and a detail for people.
import { Result } from "effect"
import type { Violation } from "../../request/Request.ts"

export type RefusalCode =
  // The text and its kind
  | "xdr_encoding"
  | "xdr_invalid"
  | "xdr_not_canonical"
  | "xdr_kind"
  | "xdr_signed"
  | "xdr_unsigned"
  // The transaction
  | "operation_count"
  | "operation_not_allowed"
  | "operation_source"
  | "soroban_not_alone"
  | "memo"
  | "muxed_source"
  | "source_account_mismatch"
  | "source_is_own"
  | "sponsoring_only"
  | "preconditions_unsupported"
  | "time_bounds_missing"
  | "time_bounds_too_long"
  | "time_bounds_past"
  | "time_bounds_future"
  | "too_many_subentries"
  // Authorizations and signatures
  | "auth_kind_unsupported"
  | "auth_of_own_account"
  | "auth_not_granted"
  | "auth_expired"
  | "signature_invalid"
  | "signed_by_own"
  | "not_built_here"
  // Costs
  | "resource_fee"
  | "resource_fee_too_high"
  | "fee_above_cap"
  | "balance_change"
  | "payment_insufficient"
  | "fee_token_clawback"
  // The chain
  | "sequence_used"
  | "would_fail"
  // The API key
  | "key_limits"

export interface Refusal {
  readonly code: RefusalCode
  readonly detail: string
}

export const refuse = (code: RefusalCode, detail: string): Result.Result<never, Refusal> =>
  Result.fail({ code, detail })

/** A rule that finds nothing wrong returns undefined. */
export const refusal = (code: RefusalCode, detail: string): Refusal => ({ code, detail })

/** As a response shows it: `transaction_xdr: operation_not_allowed: operation 2 is accountMerge`. */
export const violationOf = ({ code, detail }: Refusal, field = "transaction_xdr"): Violation => ({
  field,
  message: `${code}: ${detail}`
})
