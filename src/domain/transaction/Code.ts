// Codes: what a transaction waits for, or why it is final. `Explanation.ts` has the sentence of each.
import { Schema } from "effect"
import { openList } from "../request/Shown.ts"

/** Codes of transactions without a nonce that wait. */
const pending = [
  "queued",
  "relayer_paused",
  "relayer_disabled",
  "lane_window_full",
  "waits_for_predecessors",
  "not_before",
  "nonce_taken"
] as const

/** Codes that a transaction can have before and after it gets a nonce. */
const open = [
  "gas_price_above_cap",
  "gas_price_below_base_fee",
  "call_not_estimated",
  "insufficient_funds",
  "signer_unavailable",
  "throttled",
  "row_changed",
  "providers_unavailable",
  "rate_limited",
  "chain_changed",
  "nonce_out_of_range",
  "nonce_ahead",
  "nonce_unexplained",
  "deep_reorg",
  "nonce_taken_unproven",
  "restored_unproven"
] as const

/** Codes of transactions with a nonce. */
const inFlight = [
  "sending",
  "in_pool",
  "not_in_pool_rebroadcast",
  "underpriced_bumping",
  "at_cap",
  "below_base_fee",
  "yielding",
  "canceling",
  "expiring",
  "mined_waiting",
  "reverted_unconfirmed",
  "providers_disagree",
  "second_provider_missing",
  "chain_stalled",
  "accepted_not_included",
  "refused_in_unknown_words",
  "dropped_by_node",
  "reorged"
] as const

/**
 * Codes of final transactions. `call_not_estimated`, `insufficient_funds`, `chain_changed` and `restored_unproven` can be final as
 * well.
 * `gap_filled` belongs to no-ops that the service makes for a nonce that nothing uses.
 */
const final = [
  "confirmed",
  "executed_late",
  "canceled",
  "deadline_passed",
  "would_revert",
  "gas_limit_above_block",
  "own_account_has_code",
  "reverted",
  "out_of_gas",
  "refused_by_all",
  "nonce_taken_too_often",
  "nonce_unavailable",
  "policy_changed",
  "gap_filled"
] as const

/** Codes of solana that the first network does not have. */
const solanaCodes = [
  "priority_fee_above_cap",
  "blockhash_unavailable",
  "lookup_table_unavailable",
  "account_unavailable",
  "price_unavailable",
  "failed_unconfirmed",
  "landing_unproven",
  "failed_on_chain",
  "would_fail",
  "blockhash_expired",
  "attempts_exhausted",
  "already_accepted",
  "malformed",
  "too_large",
  "unsupported_version",
  "fee_payer_mismatch",
  "foreign_signer",
  "too_many_signatures",
  "durable_nonce",
  "fee_payer_in_instruction",
  "fee_payer_in_lookup_table",
  "fee_above_cap",
  "program_not_allowed",
  "account_not_allowed",
  "account_disallowed",
  "lookup_table_unresolved",
  "payment_missing",
  "signature_missing",
  "signature_invalid",
  "value_above_cap",
  "receiver_not_allowed",
  "lamports_out",
  "fee_payer_changed",
  "authority_changed"
] as const

/** Codes of stellar that no other network has. */
const stellarCodes = [
  "needs_restore",
  "no_account",
  "awaiting_expiry",
  "ledger_stalled",
  "clock_skew",
  "second_provider_behind",
  "signer_unauthorized",
  "sequence_exhausted",
  "in_queue",
  "try_again_later",
  "refreshing",
  "executed_by_other",
  "operation_failed",
  "auth_not_granted",
  "auth_expired",
  "balance_change",
  "resource_fee_too_high",
  "too_many_subentries",
  "fee_token_clawback",
  "payment_insufficient",
  "sequence_used"
] as const

/** Codes of the networks that came after the first one. */
export const laterCodes = [...solanaCodes, ...stellarCodes] as const
export type LaterCode = (typeof laterCodes)[number]

/** The codes that this version of the service writes. */
export const KnownCode = Schema.Literals([...pending, ...open, ...inFlight, ...final, ...laterCodes]).annotate({
  identifier: "KnownTransactionCode",
  description: "Codes of transactions and accounts."
})
export type KnownCode = typeof KnownCode.Type

/** What no time is certain to end: an operator has to decide or to change something. */
export const operatorCodes = [
  "accepted_not_included",
  "chain_changed",
  "chain_stalled",
  "dropped_by_node",
  "landing_unproven",
  "nonce_ahead",
  "nonce_unexplained",
  "nonce_out_of_range",
  "nonce_taken_unproven",
  "providers_disagree",
  "refused_in_unknown_words",
  "restored_unproven",
  "row_changed",
  "second_provider_missing",
  "sequence_exhausted",
  "signer_unauthorized"
] as const

/** A code as it is read: another version of the service may have written it. */
export const Code = openList(KnownCode).annotate({
  identifier: "TransactionCode",
  description: "Why a transaction or an account is in its state. Later versions of the service may add codes."
})
export type Code = typeof Code.Type
