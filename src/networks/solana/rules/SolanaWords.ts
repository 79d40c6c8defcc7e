// Codes of solana, with the sentences that explain them.
import { DateTime } from "effect"
import {
  because,
  explainWith,
  final,
  neverByTime,
  number,
  operator,
  tooManyRequests,
  transactions,
  waitsToBeSigned
} from "../../core/Cause.ts"
import type { Sentences } from "../../core/Cause.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { failing } from "./SolanaNumbers.ts"

const lamports = (amount: bigint | undefined): string =>
  amount === undefined ? "an unknown amount of lamports" : `${amount} lamports`

const timeOf = (moment: Moment): string => DateTime.formatIso(DateTime.makeUnsafe(moment))

const at = (moment: Moment | undefined): string => (moment === undefined ? "after a while" : `at ${timeOf(moment)}`)

const again = "The service asks again every two seconds."

const waiting = {
  queued: waitsToBeSigned,
  lane_window_full: ({ in_flight, window }) => ({
    reason: `Its relayer has ${transactions(in_flight)} in flight; the limit is ${number(window)}.`,
    next: "It is signed when one of them is seen on the chain or ends."
  }),
  insufficient_funds: ({ required, available, reserved, minimum, until }) => ({
    reason: `It needs ${lamports(required)}. The account has ${lamports(available)} available: other transactions reserve ${lamports(reserved)}, and ${lamports(minimum)} must stay.`,
    next: `${again} Send funds to the account.${until === undefined ? "" : ` Otherwise it fails ${at(until)}.`}`
  }),
  priority_fee_above_cap: ({ fee, cap }) => ({
    reason: `Its lowest fee is ${lamports(fee)}, and it may cost ${lamports(cap)} at most.`,
    next: `${again} A higher \`max_allowed_fee_lamports\`, \`max_fee_lamports\` or limit of the API key helps.`
  }),
  blockhash_unavailable: () => ({
    reason: "No two providers agree about a recent blockhash, so nothing can be signed.",
    next: again
  }),
  lookup_table_unavailable: ({ slot }) => ({
    reason:
      slot === undefined
        ? "A lookup table that it names cannot be read."
        : `It uses an entry of a lookup table that was extended in slot ${number(slot)}, which is not finalized yet: the chain would drop it.`,
    next: again
  }),
  account_unavailable: () => ({ reason: "A token account that it spends from cannot be read.", next: again }),
  providers_unavailable: ({ error, host }) => ({
    reason: `No RPC provider gives the answers that a decision needs${host === undefined ? "" : `; ${host}: ${error ?? "no answer"}`}.`,
    next: `No new bytes are signed before one does. ${again} More RPC URLs help.`
  }),
  price_unavailable: ({ error }) => ({ reason: `There is no price for its payment${because(error)}.`, next: again }),
  // A provider limits requests, or the service the transactions of an API key.
  rate_limited: (figures) =>
    figures.error === undefined || figures.host !== undefined
      ? tooManyRequests(figures)
      : {
          reason: `${figures.error}, which the relayer paid for: more than ${failing.percent} %.`,
          next: `It may be signed ${at(figures.until)}. Simulate transactions just before they are sent, or find out who makes them fail.`
        },
  chain_changed: () => ({
    reason: "The RPC URL serves another cluster than the one that the transaction belongs to.",
    next: "Nothing is sent there. Correct the URL; if a test network was restarted, use `POST /api/v1/relayers/{id}/nonce/generation`."
  }),
  restored_unproven: () => ({
    reason: "The database was restored, so it may have been executed already.",
    next: `It is not signed by itself. ${operator}`
  })
} as const satisfies Sentences

const flying = {
  sending: () => ({
    reason: "It is signed, and no node has confirmed that it received it.",
    next: "The same bytes are sent every two seconds."
  }),
  in_pool: () => ({
    reason: "A node has forwarded it. The chain does not show it yet.",
    next: "The same bytes are sent every two seconds until it lands or its blockhash dies."
  }),
  canceling: () => ({
    reason: "A cancel was requested after it was signed: no new bytes are signed.",
    next: "It becomes `canceled` when a proof shows that its bytes cannot land any more, and `confirmed` if they land first."
  }),
  mined_waiting: ({ slot }) => ({
    reason: `It is in slot ${number(slot)}, which is not finalized yet.`,
    next: "It is confirmed when as many providers as must agree have it finalized."
  }),
  failed_unconfirmed: ({ slot }) => ({
    reason: `It failed in slot ${number(slot)}, which is not finalized yet.`,
    next: "It fails when the slot is finalized. If the chain drops the slot, the same bytes are sent again."
  }),
  reorged: () => ({
    reason: "The chain has dropped the slot in which it was.",
    next: "The same bytes are sent again."
  }),
  providers_disagree: () => ({
    reason: "Two providers contradict each other about it.",
    next: `${again} ${neverByTime} A third RPC URL helps.`
  }),
  second_provider_missing: ({ decides_at }) => ({
    reason: "One provider has an opinion about it, and no other one answers.",
    next: `It is decided when another provider answers, or by the one that is left ${at(decides_at)}.`
  }),
  landing_unproven: ({ bound, host, error, until }) => ({
    reason: `Its bytes should be dead above block height ${number(bound)}, but no proof shows that they have not landed.${host === undefined ? "" : ` ${host} ${error ?? "does not answer"}.`}`,
    next: `No second signature exists, and none is made before the proof. ${again} ${neverByTime} More RPC URLs, with history, help.${until === undefined ? "" : ` From ${timeOf(until)} on, an operator may decide with \`POST /api/v1/relayers/{id}/nonce/resync\`.`}`
  })
} as const satisfies Sentences

const refused = "It was not sent."

const ended = {
  confirmed: ({ slot }) => final(`It was executed in slot ${number(slot)}, which is finalized.`),
  executed_late: ({ slot }) =>
    final(`It was executed in slot ${number(slot)}, after its deadline: its bytes were signed before it.`),
  failed_on_chain: ({ slot, fee }) =>
    final(
      `It failed in slot ${number(slot)}. ${fee === 0n ? "No fee was charged" : "Its fee was charged"}, and it has no other effect.`
    ),
  would_fail: ({ error }) => final(`Its simulation fails${because(error)}, so it was not sent.`),
  blockhash_expired: () => final("Its blockhash died before it landed, and it may not be exchanged. It has no effect."),
  attempts_exhausted: ({ attempts }) =>
    final(`None of its ${number(attempts)} signed versions landed. It has no effect.`),
  already_accepted: () => final("Another transaction has the same message."),
  refused_by_all: ({ bound }) =>
    bound === undefined
      ? final("Every node that was asked refused its bytes, and a proof shows that they did not land.")
      : {
          reason: "Every node that was asked refused its bytes, so they are not sent again.",
          next: `It ends when a proof shows that they are dead, above block height ${number(bound)}.`
        },
  malformed: () => final(`Its bytes are not well formed. ${refused}`),
  too_large: () => final(`It has more bytes than the policy or the network allows. ${refused}`),
  unsupported_version: () => final(`The version of its message is not supported. ${refused}`),
  fee_payer_mismatch: () => final(`Its fee payer is not the relayer. ${refused}`),
  foreign_signer: () => final(`Its instructions need another signer than the relayer. ${refused}`),
  too_many_signatures: () => final(`It needs more signatures than the policy allows. ${refused}`),
  durable_nonce: () => final(`It uses a durable nonce, so its bytes would never die. ${refused}`),
  fee_payer_in_instruction: () => final(`An instruction lists the relayer in a form that is not allowed. ${refused}`),
  fee_payer_in_lookup_table: () => final(`A lookup table loads the relayer. ${refused}`),
  fee_above_cap: () => final(`Its fee is above the limit of the relayer or of the request. ${refused}`),
  program_not_allowed: () => final(`It calls a program that the relayer's policy does not allow. ${refused}`),
  account_not_allowed: () => final(`It uses an account that the relayer's policy does not allow. ${refused}`),
  account_disallowed: () => final(`It uses an account that the relayer's policy forbids. ${refused}`),
  lookup_table_unresolved: () => final(`A lookup table does not exist, or has no such entry. ${refused}`),
  payment_missing: ({ error }) => final(`It does not pay the relayer${because(error)}. ${refused}`),
  signature_missing: () => final(`The signature of another signer is missing. ${refused}`),
  signature_invalid: () => final(`The signature of another signer is not valid. ${refused}`),
  value_above_cap: () => final(`It spends more lamports than the policy or the API key allows. ${refused}`),
  receiver_not_allowed: () => final(`The API key does not allow one of its receivers. ${refused}`),
  lamports_out: () => final(`Its simulation takes more lamports from the relayer than it declares. ${refused}`),
  fee_payer_changed: () => final(`Its simulation changes the owner or the data of the relayer's account. ${refused}`),
  authority_changed: () => final(`Its simulation changes who controls a token account of the relayer. ${refused}`)
} as const satisfies Sentences

const sentences = { ...waiting, ...flying, ...ended }

export const explain = explainWith(sentences, () => undefined)

/** Codes with a sentence that only solana has. */
export type SolanaCode = keyof typeof sentences

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
