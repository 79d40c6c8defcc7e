// A situation for every code that a solana transaction can have: the state machine reaches it, and its sentences explain it.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import type { Command, Situation } from "../../../../src/networks/core/Rules.ts"
import type { Transaction } from "../../../../src/networks/core/Transaction.ts"
import type { Solana } from "../../../../src/networks/solana/rules/Solana.ts"
import { decide } from "../../../../src/networks/solana/rules/SolanaDecision.ts"
import { maxAttempts } from "../../../../src/networks/solana/rules/SolanaNumbers.ts"
import type { Preparation } from "../../../../src/networks/solana/rules/SolanaSeen.ts"
import { explain } from "../../../../src/networks/solana/rules/SolanaWords.ts"
import type { RuleCode, SolanaCode } from "../../../../src/networks/solana/rules/SolanaWords.ts"
import {
  alive,
  attempt,
  dead,
  landed,
  mined,
  now,
  pending,
  preparation,
  seen,
  situation,
  submitted
} from "./Situations.ts"

const base = (more: Parameters<typeof situation>[2] = {}) => situation(pending, seen([]), more)

const prepared = (changed: Partial<Preparation>, transaction: Partial<Transaction<Solana>> = {}) =>
  situation({ ...pending, ...transaction }, seen([], { preparation: { ...preparation, ...changed } }))

const inFlight = (looks: Parameters<typeof seen>[0], transaction: Partial<Transaction<Solana>> = {}) =>
  situation({ ...submitted, ...transaction }, seen(looks))

/** Rules of a message: `Guard` decides them, from the bytes and from what a lane reads before each signature. */
const rules = {
  malformed: prepared({ broken: "malformed" }),
  too_large: prepared({ broken: "too_large" }),
  unsupported_version: prepared({ broken: "unsupported_version" }),
  fee_payer_mismatch: prepared({ broken: "fee_payer_mismatch" }),
  foreign_signer: prepared({ broken: "foreign_signer" }),
  too_many_signatures: prepared({ broken: "too_many_signatures" }),
  durable_nonce: prepared({ broken: "durable_nonce" }),
  fee_payer_in_instruction: prepared({ broken: "fee_payer_in_instruction" }),
  fee_payer_in_lookup_table: prepared({ broken: "fee_payer_in_lookup_table" }),
  fee_above_cap: prepared({ broken: "fee_above_cap" }),
  program_not_allowed: prepared({ broken: "program_not_allowed" }),
  account_not_allowed: prepared({ broken: "account_not_allowed" }),
  account_disallowed: prepared({ broken: "account_disallowed" }),
  lookup_table_unresolved: prepared({ accounts: "missing_table" }),
  account_unavailable: prepared({ accounts: "account_unavailable" }),
  payment_missing: prepared({ broken: "payment_missing", problem: "it has no transfer to the relayer" }),
  signature_missing: prepared({ broken: "signature_missing" }),
  signature_invalid: prepared({ broken: "signature_invalid" }),
  value_above_cap: prepared({ broken: "value_above_cap" }),
  receiver_not_allowed: prepared({ broken: "receiver_not_allowed" }),
  lamports_out: prepared({ simulated: { _tag: "Broken", code: "lamports_out" } }),
  fee_payer_changed: prepared({ simulated: { _tag: "Broken", code: "fee_payer_changed" } }),
  authority_changed: prepared({ simulated: { _tag: "Broken", code: "authority_changed" } })
} satisfies Record<RuleCode, Situation<Solana>>

/** Codes whose sentences are the same on all networks. */
type SharedCode =
  | "relayer_paused"
  | "relayer_disabled"
  | "not_before"
  | "signer_unavailable"
  | "throttled"
  | "row_changed"
  | "policy_changed"
  | "deadline_passed"
  | "canceled"

/**
 * No step sets `queued`, `in_pool` and `canceling`: accepting a transaction, the answer of a node, a cancel and an operator's `send` do.
 */
type OwnCode = Exclude<SolanaCode, "queued" | "in_pool" | "canceling">

const situations: Readonly<Record<OwnCode | SharedCode, Situation<Solana>>> = {
  ...rules,
  sending: prepared({ simulated: { _tag: "BrokenOnce" } }),
  relayer_paused: base({ terms: { isPaused: true } }),
  relayer_disabled: base({ terms: { disabled: "relayer_disabled" } }),
  lane_window_full: base({ rest: { inFlight: 64 } }),
  not_before: situation({ ...pending, notBefore: now + 1 }, seen([])),
  insufficient_funds: prepared({ balance: 0n }),
  signer_unavailable: base({ signerRetry: { code: "signer_unavailable", at: now + 1 } }),
  throttled: base({ signerRetry: { code: "throttled", at: now + 1 } }),
  row_changed: base({ signerRetry: { code: "row_changed", at: now + 1 } }),
  providers_unavailable: situation(pending, {
    _tag: "Unreachable",
    code: "providers_unavailable",
    retryAt: now + 1
  }),
  providers_disagree: inFlight([landed("finalized"), dead]),
  second_provider_missing: situation(submitted, seen([landed("finalized")], { aloneSince: now - 30_000 })),
  rate_limited: base({ terms: { isSponsored: true, keyHold: { failed: 11, of: 50, until: now + 60_000 } } }),
  chain_changed: base({ stop: cause("chain_changed") }),
  restored_unproven: situation({ ...pending, restored: true }, seen([])),
  priority_fee_above_cap: prepared({ fee: { floor: 7000n, offered: 9000n, cap: 6000n } }),
  blockhash_unavailable: prepared({ lifetime: "unavailable" }),
  lookup_table_unavailable: prepared({ accounts: "table_unavailable" }),
  price_unavailable: prepared({ accounts: "price_unavailable", problem: "it is 61 s old" }),
  mined_waiting: inFlight([landed("confirmed"), landed("processed")]),
  failed_unconfirmed: inFlight([landed("confirmed", false), alive]),
  landing_unproven: inFlight([dead, alive]),
  reorged: inFlight([alive, alive], { state: "mined", mined }),
  confirmed: inFlight([landed("finalized"), landed("finalized")]),
  executed_late: inFlight([landed("finalized"), landed("finalized")], { validUntil: now }),
  canceled: situation({ ...pending, intent: "cancel" }, seen([])),
  deadline_passed: situation({ ...pending, validUntil: now }, seen([])),
  failed_on_chain: inFlight([landed("finalized", false), landed("finalized", false)]),
  would_fail: prepared({ simulated: { _tag: "Fails", error: "Custom 1" } }),
  blockhash_expired: inFlight([dead, dead], { facts: { isRefreshable: false, isPrebuilt: true } }),
  attempts_exhausted: inFlight([dead, dead], {
    attempts: Array.from({ length: maxAttempts }, (_, index) => ({ ...attempt, ordinal: index + 1 }))
  }),
  already_accepted: prepared({ broken: "already_accepted" }),
  refused_by_all: inFlight([dead, dead], { attempts: [{ ...attempt, outcome: "refused" }] }),
  policy_changed: base({ terms: { isAllowed: false } })
}

const causeIn = (commands: ReadonlyArray<Command<Solana>>) =>
  commands.flatMap((command) => ("cause" in command ? [command.cause] : [])).at(0)

const isFinal = (commands: ReadonlyArray<Command<Solana>>) => commands.some(({ _tag }) => _tag === "Finish")

describe("every code of solana", () => {
  for (const [code, given] of Object.entries(situations)) {
    it(`${code} is reached, and explained with its numbers and what comes next`, () => {
      const commands = decide(given)
      const why = causeIn(commands)
      assert.strictEqual(why?.code, code)
      if (why === undefined) return
      const { next, reason } = explain(why, isFinal(commands))
      assert.notMatch(reason, /unknown|does not know/u)
      assert.match(reason, /\.$/u)
      assert.match(next, /[.!]$/u)
      assert.strictEqual(next === "Nothing follows: this state is final.", isFinal(commands))
    })
  }
})

it("a limit of requests names the provider that has it, and one of an API key the transactions that failed", () => {
  const limited = explain(cause("rate_limited", { host: "https://node.example", error: "HTTP 429" }), false)
  assert.strictEqual(
    limited.reason,
    "The RPC providers refuse requests because there are too many; https://node.example: HTTP 429."
  )
  const failing = explain(cause("rate_limited", { error: "3 of the newest 5", until: now }), false)
  assert.match(failing.reason, /^3 of the newest 5, which the relayer paid for/u)
})
