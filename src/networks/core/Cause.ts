// Why a transaction is in its state: its code, the figures that belong to the code, and the sentence that says it to people.
import { DateTime, Schema } from "effect"
import { shown } from "../../domain/request/Field.ts"
import * as Shown from "../../domain/request/Shown.ts"
import { entryOf, openList } from "../../domain/request/Shown.ts"
import { MomentFromText, TransactionId } from "./TransactionValues.ts"
import type { Moment } from "./TransactionValues.ts"

// Codes: what a transaction waits for, or why it is final. `Cause.ts` has the sentence of each.

/** Codes of transactions without a nonce that wait. */
const pendingCodes = [
  "queued",
  "relayer_paused",
  "relayer_disabled",
  "lane_window_full",
  "waits_for_predecessors",
  "waits_for_delegation",
  "not_before",
  "nonce_taken"
] as const

/** Codes that a transaction can have before and after it gets a nonce. */
const openCodes = [
  "gas_price_above_cap",
  "gas_price_below_base_fee",
  "call_not_estimated",
  "insufficient_funds",
  "signer_unavailable",
  "throttled",
  "row_changed",
  "providers_unavailable",
  "rate_limited",
  "no_private_rpc",
  "delegate_changed",
  "authorization_ahead",
  "authority_busy",
  "chain_changed",
  "nonce_out_of_range",
  "nonce_ahead",
  "nonce_unexplained",
  "deep_reorg",
  "nonce_taken_unproven",
  "restored_unproven"
] as const

/** Codes of transactions with a nonce. */
const inFlightCodes = [
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
  "effect_unproven",
  "providers_disagree",
  "second_provider_missing",
  "chain_stalled",
  "accepted_not_included",
  "private_not_included",
  "refused_in_unknown_words",
  "dropped_by_node",
  "reorged"
] as const

/**
 * Codes of final transactions. `call_not_estimated`, `insufficient_funds`, `chain_changed` and `restored_unproven` can be final as
 * well.
 * `gap_filled` belongs to no-ops that the service makes for a nonce that nothing uses.
 */
const finalCodes = [
  "confirmed",
  "executed_late",
  "canceled",
  "deadline_passed",
  "would_revert",
  "gas_limit_above_block",
  "gas_limit_below_estimate",
  "own_account_has_code",
  "authorization_used",
  "authority_is_relayer",
  "estimate_unavailable",
  "authorization_without_effect",
  "reverted",
  "out_of_gas",
  "refused_by_all",
  "nonce_taken_too_often",
  "nonce_unavailable",
  "policy_changed",
  "private_estimate_unavailable",
  "not_delegated",
  "delegation_without_effect",
  "used_by_authorization",
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
export const KnownCode = Schema.Literals([
  ...pendingCodes,
  ...openCodes,
  ...inFlightCodes,
  ...finalCodes,
  ...laterCodes
]).annotate({
  identifier: "KnownTransactionCode",
  description: "Codes of transactions and accounts."
})
export type KnownCode = typeof KnownCode.Type

/** What no time is certain to end: an operator has to decide or to change something. */
export const operatorCodes = [
  "accepted_not_included",
  "chain_changed",
  "chain_stalled",
  "delegate_changed",
  "dropped_by_node",
  "effect_unproven",
  "landing_unproven",
  "no_private_rpc",
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

/**
 * Codes with which an open transaction goes its way, or waits for what its sender or an operator wanted. With any other code, it waits for
 * something that is missing, and nothing behind it that it holds goes on.
 */
const advancing: ReadonlySet<string> = new Set<KnownCode>([
  "queued",
  "relayer_paused",
  "relayer_disabled",
  "lane_window_full",
  "waits_for_predecessors",
  "waits_for_delegation",
  "not_before",
  "nonce_taken",
  "sending",
  "in_pool",
  "not_in_pool_rebroadcast",
  "underpriced_bumping",
  "yielding",
  "canceling",
  "canceled",
  "expiring",
  "mined_waiting",
  "reverted_unconfirmed",
  "reorged",
  "refused_by_all",
  "policy_changed",
  "own_account_has_code",
  "not_delegated",
  "authorization_used",
  "authority_is_relayer",
  "gap_filled",
  "failed_unconfirmed",
  "in_queue",
  "try_again_later",
  "refreshing",
  "awaiting_expiry"
])

export const advancingCodes: ReadonlyArray<string> = [...advancing]

/** Whether an open transaction with the code waits for something that is missing, such as funds. */
export const waits = (code: string): boolean => !advancing.has(code)

/** A code as it is read: another version of the service may have written it. */
export const Code = openList(KnownCode).annotate({
  identifier: "TransactionCode",
  description: "Why a transaction or an account is in its state. Later versions of the service may add codes."
})
export type Code = typeof Code.Type

const Wei = Shown.Digits

/**
 * What limits a price. `given`: the fees of the request. `cap`: the policy of the relayer. `api_key`: the limit of the key that
 * sent it. `first_price`: a multiple of what the first attempt offered. `operator`: the price of `nonce/clear`.
 */
export const PriceLimit = Schema.Literals(["given", "cap", "api_key", "first_price", "operator"]).annotate({
  identifier: "PriceLimit"
})
export type PriceLimit = typeof PriceLimit.Type

/** Each is absent if it does not belong to the code, or is not known. */
export const Figures = Schema.Struct({
  base_fee: shown(Wei, "Base fee of the next block, in wei per gas.", "42000000000"),
  cap: shown(Wei, "Highest price that the transaction may offer, in wei per gas.", "40000000000"),
  price: shown(Wei, "Highest price that the newest attempt offers, in wei per gas.", "39000000000"),
  limit: shown(
    PriceLimit,
    "What limits the price: the request, the policy, the API key, or the first attempt.",
    "given"
  ),
  gas_limit: shown(Shown.Digits, "Gas limit that the request gives.", "40000000"),
  estimate: shown(Shown.Digits, "Gas that the call uses, as a node estimates it.", "62000"),
  block_gas_limit: shown(Shown.Digits, "Gas limit of the newest block.", "30000000"),
  required: shown(Wei, "Wei that the account needs for this transaction.", "1050000000000000"),
  available: shown(Wei, "Wei on the account that no transaction in flight reserves.", "900000000000000"),
  reserved: shown(Wei, "Wei that the transactions in flight may cost.", "100000000000000"),
  minimum: shown(Wei, "Wei that must stay on the account.", "1000000000000000"),
  blocks: shown(Schema.Natural, "Blocks on top of the transaction's block.", 3),
  required_blocks: shown(Schema.Natural, "Blocks on top of a block that make it final.", 12),
  block: shown(Schema.Natural, "Height of the transaction's block.", 19_000_000),
  newest_block: shown(Schema.Natural, "Height of the newest block that any provider shows.", 19_000_012),
  stalled_since: shown(MomentFromText, "Since when no provider has shown a newer block.", "2026-11-22T11:58:00.000Z"),
  host: shown(
    Schema.String,
    "RPC provider, masked. With `accepted_not_included` and `dropped_by_node`: the providers that accepted it, separated by commas.",
    "https://rpc.example.com/***"
  ),
  authority: shown(
    Shown.shaped(/^0x[0-9a-f]{40}$/),
    "Account whose authorization (EIP-7702) it is about. `required_nonce` and `count` are its own.",
    "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"
  ),
  nonce: shown(Schema.Natural, "Nonce of the transaction.", 7),
  next_nonce: shown(Schema.Natural, "Nonce that the lane assigns next.", 7),
  required_nonce: shown(Schema.Natural, "Nonce that the request requires.", 9),
  front_nonce: shown(Schema.Natural, "Nonce of the transaction that this one waits for. Absent: it has none.", 6),
  front_id: shown(
    TransactionId,
    "Id of the transaction that this one waits for. Absent if the API key cannot use its relayer.",
    "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
  ),
  front_code: shown(Code, "Code of the transaction that this one waits for.", "gas_price_above_cap"),
  count: shown(Schema.Natural, "Transactions that the chain counts for the account.", 12),
  window: shown(Schema.Natural, "Transactions of the lane that may be in flight at once.", 64),
  in_flight: shown(Schema.Natural, "Transactions of the lane that are in flight.", 64),
  position: shown(Schema.Natural, "Transactions ahead in the lane.", 2),
  hash: shown(Shown.Hash, "Hash of the no-op, or of the transaction that used the nonce.", `0x${"5c".repeat(32)}`),
  sends: shown(Schema.Natural, "How often the newest attempt was sent.", 2),
  until: shown(MomentFromText, "When the wait ends at the latest.", "2026-11-22T18:00:00.000Z"),
  answer: shown(Schema.Literal("give_up"), "What an operator has decided.", "give_up"),
  fee: shown(Shown.Digits, "Fee in lamports.", "5020"),
  slot: shown(Schema.Natural, "Slot of the transaction.", 300_000_000),
  bound: shown(Schema.Natural, "Last block height at which the signed bytes can land.", 280_000_150),
  attempts: shown(Schema.Natural, "Signed versions of the transaction.", 20),
  decides_at: shown(MomentFromText, "When one provider decides alone.", "2026-11-22T19:00:00.000Z"),
  sequence: shown(Shown.Digits, "Sequence of the transaction, or of the account.", "257698037760000001"),
  required_sequence: shown(Shown.Digits, "Sequence that the request requires.", "257698037760000003"),
  ledger: shown(Schema.Natural, "Ledger that shows it.", 60_000_000),
  other_ledger: shown(Schema.Natural, "Newest ledger of the provider that is behind.", 59_999_998),
  close_time: shown(MomentFromText, "Close time of the newest ledger.", "2026-11-22T18:00:00.000Z"),
  clock: shown(MomentFromText, "Clock of the service.", "2026-11-22T19:00:00.000Z"),
  times: shown(Schema.Natural, "How often in a row nodes said so.", 3),
  error: shown(Shown.Words, "Error of the chain or of the simulation.", "insufficient funds"),
  revert_reason: shown(Shown.Words, "Decoded reason of the revert.", "transfer amount exceeds balance"),
  would_revert_now: shown(
    Schema.Boolean,
    "Whether the call would revert now. Providers are asked once in ten blocks. Absent: none has answered.",
    true
  )
}).annotate({ identifier: "TransactionFigures" })
export type Figures = typeof Figures.Type

export const Cause = Schema.Struct({ code: Code, figures: Figures })
export type Cause = typeof Cause.Type

export const cause = (code: KnownCode, figures: Figures = {}): Cause => ({ code, figures })

// Why a transaction is in its state, and what happens next: a sentence for people, a code and figures for programs. Each
// network adds sentences of its own codes.

export interface Words {
  /** What is the case, with numbers if they are known. */
  readonly reason: string
  /** What the service does about it, and what would help. */
  readonly next: string
}

/** By code. */
export type Sentences = Readonly<Partial<Record<KnownCode, (figures: Figures) => Words>>>

export const number = (value: number | undefined): string => (value === undefined ? "an unknown number" : String(value))

export const transactions = (value: number | undefined): string =>
  value === undefined ? "an unknown number of transactions" : value === 1 ? "1 transaction" : `${value} transactions`

/** Solana and stellar sign in the order of acceptance. What holds a whole relayer, such as missing funds, holds those behind it too. */
export const waitsToBeSigned = ({ position = 0 }: Figures): Words =>
  position === 0
    ? { reason: "It waits to be signed.", next: "It is signed in the next step of its relayer." }
    : {
        reason: `It waits to be signed behind ${transactions(position)} of its relayer.`,
        next: "It is signed after them. What holds the first of them for the whole relayer, such as missing funds, holds it too: the explanation of the first one names it."
      }

export const times = (value: number | undefined): string =>
  value === undefined ? "an unknown number of times" : value === 1 ? "1 time" : `${value} times`

export const hashed = (hash: string | undefined): string => (hash === undefined ? "" : ` (${hash})`)

export const because = (text: string | undefined): string => (text === undefined ? "" : `: ${text}`)

/** A moment in a sentence. */
const moment = (at: Moment): string => DateTime.formatIso(DateTime.makeUnsafe(at))

const askedAgain = (until: Moment | undefined): string =>
  until === undefined ? "after a pause" : `at ${moment(until)}`

const nothing = "Nothing follows: this state is final."

export const operator = "An operator must decide with `POST /api/v1/relayers/{id}/nonce/resync`."

/** Says that a code waits for a person. */
export const neverByTime = "It is never decided by time."

export const final = (reason: string): Words => ({ reason, next: nothing })

/** What a provider did instead of an answer, after a sentence about all of them. */
const instead = ({ error, host }: Pick<Figures, "host" | "error">): string =>
  host === undefined ? "" : `; ${host}: ${error ?? "no answer"}`

/** What `rate_limited` means unless the network has another reason. */
export const tooManyRequests = (figures: Pick<Figures, "host" | "error">): Words => ({
  reason: `The RPC providers refuse requests because there are too many${instead(figures)}.`,
  next: "The service asks them again after a pause, and for less at once. A plan with more requests, or more RPC URLs, helps."
})

/** What `providers_unavailable` means unless the network knows more. */
export const noAnswers = (figures: Pick<Figures, "host" | "error">): Words => ({
  reason:
    figures.host === undefined
      ? "No RPC provider gives the answers that a decision needs, or two of them disagree."
      : `No RPC provider gives the answers that a decision needs${instead(figures)}.`,
  next: "The service asks them again after a pause. More RPC URLs help."
})

/** One provider has an opinion, and no other one. */
export const noOpinion = ({
  host = "another provider",
  error,
  decides_at
}: Pick<Figures, "host" | "error" | "decides_at">): Words => ({
  reason: `One provider shows how it ends, and no other one has an opinion: ${host} does not have one${because(error)}.`,
  next: `${
    decides_at === undefined
      ? "It waits until another provider has an opinion, because `finality_by_one` of the network is `never`."
      : `It is decided when another provider has an opinion, or at ${moment(decides_at)} by the one that is left.`
  } Correct that RPC URL, set its weight to 0, or add a third one.`
})

/** Codes that mean the same on all networks. */
const neutral = {
  relayer_paused: () => ({
    reason: "An operator has paused the relayer of the transaction.",
    next: "It continues when the relayer is resumed."
  }),
  relayer_disabled: () => ({
    reason: "The service has disabled the relayer of the transaction.",
    next: "It continues when the relayer's next health check succeeds; `GET /api/v1/relayers/{id}/explain` says what is wrong."
  }),
  not_before: () => ({
    reason: "Its `not_before` is in the future.",
    next: "It is queued at that moment."
  }),
  signer_unavailable: ({ until }) => ({
    reason: "Its signer cannot sign: it does not answer, refuses the service, or has another key than the relayer.",
    next: `The service asks the signer again ${askedAgain(until)}; nothing is lost. \`POST /api/v1/signers/{id}/verify\` says what is wrong.`
  }),
  throttled: ({ until }) => ({
    reason: "The key service of the signer accepts no more requests now.",
    next: `The service asks the signer again ${askedAgain(until)}; nothing is lost. A higher quota at the key service helps.`
  }),
  row_changed: () => ({
    reason:
      "The row of the relayer, the network or the signer cannot be verified, or is gone: another program or a person changed the database, or a defect of an earlier version lost the secret of MACs.",
    next: "Nothing is signed or sent with it. It continues when the row is restored from a backup, or accepted by `effect-relayer repair`, which shows the evidence for each cause. Delete no signer whose key exists nowhere else."
  }),
  providers_unavailable: noAnswers,
  rate_limited: tooManyRequests,
  second_provider_missing: noOpinion,
  policy_changed: () => final("The relayer's policy, or a limit of the API key, no longer allowed it."),
  deadline_passed: () => final("Its deadline passed before it was executed; it has no effect."),
  canceled: () => final("It was canceled and has no effect.")
} as const satisfies Sentences

/** Sentences are written about "it". The first one of a text names the transaction, because callers read it alone. */
const named = (text: string): string =>
  text.replace(/^It(s?) /u, (_, possessive: string) => (possessive === "" ? "The transaction " : "The transaction's "))

const standAlone = ({ reason, next }: Words): Words => ({ reason: named(reason), next: named(next) })

/** A newer version of the service may have written it. */
const unknown = (code: string): Words => ({
  reason: `Its code is ${code}, which this version of the service does not know.`,
  next: "Ask an instance of the version that wrote it."
})

/**
 * `own`: sentences of the network. `clearing`: why nothing is to happen at the place of an open transaction, by the code that
 * it ends with. `isFinal`: a code can be a reason to wait, and later the reason of the end.
 */
export const explainWith = (own: Sentences, clearing: (cause: Cause) => Words | undefined) => {
  const sentences: Sentences = { ...neutral, ...own }
  return (cause: Cause, isFinal: boolean): Words => {
    const cleared = isFinal ? undefined : clearing(cause)
    if (cleared !== undefined) return standAlone(cleared)
    const found = entryOf(sentences, cause.code)?.(cause.figures) ?? unknown(cause.code)
    return standAlone(isFinal ? { ...found, next: nothing } : found)
  }
}
