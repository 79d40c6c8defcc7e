// Codes of solana: what a transaction waits for, or why it is final or refused.

/** Codes of transactions that are not final. */
type OpenCode =
  | "queued"
  | "sending"
  | "relayer_paused"
  | "relayer_disabled"
  | "lane_window_full"
  | "not_before"
  | "insufficient_funds"
  | "signer_unavailable"
  | "throttled"
  | "row_changed"
  | "providers_unavailable"
  | "providers_disagree"
  | "second_provider_missing"
  | "rate_limited"
  | "chain_changed"
  | "restored_unproven"
  | "priority_fee_above_cap"
  | "blockhash_unavailable"
  | "lookup_table_unavailable"
  | "account_unavailable"
  | "price_unavailable"
  | "mined_waiting"
  | "failed_unconfirmed"
  | "landing_unproven"
  | "reorged"

/** Codes of the rules that a message has to pass at admission and before each signature. */
export type RuleCode =
  | "malformed"
  | "too_large"
  | "unsupported_version"
  | "fee_payer_mismatch"
  | "foreign_signer"
  | "too_many_signatures"
  | "durable_nonce"
  | "fee_payer_in_instruction"
  | "fee_payer_in_lookup_table"
  | "fee_above_cap"
  | "program_not_allowed"
  | "account_not_allowed"
  | "account_disallowed"
  | "lookup_table_unresolved"
  | "account_unavailable"
  | "payment_missing"
  | "signature_missing"
  | "signature_invalid"
  | "value_above_cap"
  | "receiver_not_allowed"
  | "lamports_out"
  | "fee_payer_changed"
  | "authority_changed"

/** Codes of final transactions. Codes of rules, and some of open transactions, can be final as well. */
type FinalCode =
  | "confirmed"
  | "executed_late"
  | "canceled"
  | "deadline_passed"
  | "failed_on_chain"
  | "would_fail"
  | "blockhash_expired"
  | "attempts_exhausted"
  | "already_accepted"
  | "refused_by_all"
  | "policy_changed"

export type SolanaCode = OpenCode | RuleCode | FinalCode

/** A code, and the figures that its sentence shows. */
export interface SolanaCause {
  readonly code: SolanaCode
  readonly figures: Readonly<Record<string, bigint | number | string>>
}

export const cause = (code: SolanaCode, figures: SolanaCause["figures"] = {}): SolanaCause => ({ code, figures })
