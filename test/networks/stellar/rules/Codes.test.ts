// Every code that a stellar transaction can have: a situation that reaches it, a sentence and a next step.
import { Arbitrary } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { cause, Figures } from "../../../../src/networks/core/Cause.ts"
import type { KnownCode } from "../../../../src/networks/core/Cause.ts"
import type { Situation } from "../../../../src/networks/core/Rules.ts"
import type { RefusalCode } from "../../../../src/networks/stellar/rules/Envelope.ts"
import type { Stellar, StellarRefusal } from "../../../../src/networks/stellar/rules/Stellar.ts"
import { decide } from "../../../../src/networks/stellar/rules/StellarDecision.ts"
import type { SorobanView } from "../../../../src/networks/stellar/rules/StellarSeen.ts"
import { maxInt64 } from "../../../../src/networks/stellar/rules/StellarValues.ts"
import { explain } from "../../../../src/networks/stellar/rules/StellarWords.ts"
import {
  alive,
  applied,
  clock,
  dead,
  entry,
  first,
  foreign,
  forgotten,
  found,
  guestPending,
  lane,
  look,
  n,
  now,
  pending,
  preparation,
  prepared,
  proven,
  seen,
  situation,
  submitted,
  taken,
  unseen,
  withAttempt
} from "./Situations.ts"

const one = (which: ReturnType<typeof look>) => seen([which], proven)
const two = (first: ReturnType<typeof look>, second: ReturnType<typeof look>) => seen([first, second], proven)
const both = (which = look(n - 1n)) => seen([which, which])
const call = (soroban: SorobanView) => situation(pending, prepared({ soroban }))
const broken = (code: RefusalCode) => situation(pending, prepared({ broken: { code, detail: "why" } }))
const refused = (refusal: StellarRefusal) => withAttempt({ outcome: "unknown", refusal, lastSentAt: now - 9000 })
const late = look(n - 1n, {}, { number: 500, closeTime: clock - 61 })
const guestUsed = {
  scan: { use: { hashes: [foreign] as const } },
  account: { ledger: { number: 500, closeTime: clock - 2 }, sequence: 70n }
}
const expires: SorobanView = { _tag: "Succeeds", resourceFee: 1n, data: "", recorded: [], untilLedger: 1 }
const away = (code: "providers_unavailable" | "rate_limited") =>
  ({ _tag: "Unreachable", code, retryAt: now + 9 }) as const

/** `queued` is what acceptance, and the death of an envelope, set. */
const situations: Partial<Record<KnownCode, Situation<Stellar>>> = {
  queued: situation(submitted, one(dead)),
  relayer_paused: situation(pending, both(), { terms: { isPaused: true } }),
  relayer_disabled: situation(pending, both(), { terms: { disabled: "relayer_disabled" } }),
  not_before: situation({ ...pending, notBefore: now + 1 }, both()),
  lane_window_full: situation(pending, both(), { lane: lane(true) }),
  waits_for_predecessors: situation(guestPending, both(look(60n))),
  needs_restore: call({ _tag: "NeedsRestore", fee: 1n, data: "", resourceFee: 1n }),
  no_account: situation(pending, both(look(undefined, { payer: null }))),
  fee_above_cap: situation(pending, prepared(), { terms: { cap: 1n } }),
  insufficient_funds: situation(pending, prepared({ out: 2n ** 60n })),
  price_unavailable: situation(pending, prepared({ payment: { _tag: "NoPrice" } })),
  signer_unavailable: situation(pending, both(), { signerRetry: { code: "signer_unavailable", at: now + 5 } }),
  throttled: situation(pending, both(), { signerRetry: { code: "throttled", at: now + 5 } }),
  row_changed: situation(pending, both(), { signerRetry: { code: "row_changed", at: now + 5 } }),
  providers_unavailable: situation(submitted, away("providers_unavailable")),
  rate_limited: situation(submitted, away("rate_limited")),
  providers_disagree: situation(submitted, two(found(), alive)),
  second_provider_behind: situation(submitted, two(dead, alive)),
  second_provider_missing: situation(submitted, two(found(), { ...alive, isStalled: true })),
  landing_unproven: situation(submitted, one(unseen)),
  clock_skew: situation(pending, both(late)),
  ledger_stalled: situation(pending, seen([late], { newestSince: now - 60_001 })),
  expiring: situation({ ...pending, validUntil: now + 12_000 }, both()),
  awaiting_expiry: situation(refused({ class: "permanent", result: "txMalformed" }), seen([alive])),
  chain_changed: situation(submitted, one(alive), { stop: cause("chain_changed") }),
  signer_unauthorized: situation(pending, both(look(n - 1n, { payer: { ...entry, masterWeight: 0 } }))),
  sequence_exhausted: situation(pending, both(look(maxInt64))),
  restored_unproven: situation({ ...pending, restored: true }, both()),
  nonce_taken_unproven: situation(submitted, one(forgotten)),
  nonce_taken: situation(submitted, one(taken())),
  sending: situation(withAttempt({ outcome: "unknown", sends: 0 }), seen([alive])),
  in_queue: situation(submitted, seen([alive])),
  try_again_later: situation(refused({ class: "not_now", times: 2 }), seen([alive])),
  refreshing: situation(refused({ class: "fee", needed: 300n }), seen([alive], { preparation })),
  canceling: situation({ ...submitted, intent: "cancel" }, seen([alive])),
  confirmed: situation(submitted, one(found())),
  executed_late: situation({ ...submitted, validUntil: now }, one(found())),
  executed_by_other: situation(submitted, one(found({ hash: "zz" }))),
  operation_failed: situation(submitted, one(found({ isSuccess: false }))),
  would_fail: call({ _tag: "Fails", error: "trapped" }),
  auth_not_granted: broken("auth_not_granted"),
  auth_expired: call(expires),
  balance_change: broken("balance_change"),
  resource_fee_too_high: broken("resource_fee_too_high"),
  too_many_subentries: broken("too_many_subentries"),
  fee_token_clawback: broken("fee_token_clawback"),
  payment_insufficient: broken("payment_insufficient"),
  refused_by_all: situation(refused({ class: "permanent", result: "txBadAuth" }), one(dead)),
  nonce_taken_too_often: situation({ ...submitted, requeues: 3 }, one(taken())),
  nonce_unavailable: situation({ ...pending, requiredSequence: 1n }, both()),
  sequence_used: situation(guestPending, seen([look(70n, { testimony: guestUsed })], proven)),
  policy_changed: broken("operation_not_allowed"),
  deadline_passed: situation({ ...submitted, validUntil: now }, one(dead)),
  canceled: situation({ ...submitted, intent: "cancel" }, one(dead))
}

const isSentence = (text: string): boolean =>
  /^[A-Z].*\.$/s.test(text) && !/undefined|NaN|\bnull\b|nonce(?!`|\/)/.test(text)

const nameOf = (code: string, decided: Situation<Stellar>): boolean => {
  const text = first(decided)
  return text.includes(code) || (code === "refreshing" && text.startsWith("Sign refresh"))
}

describe("a code of a stellar transaction", () => {
  for (const [code, decided] of Object.entries(situations)) {
    it(`${code} is reached`, () => assert.isTrue(nameOf(code, decided), first(decided)))
    it(`${code} is decided about again now or later`, () => {
      for (const command of decide(decided)) if (command._tag === "PollAt") assert.isAtLeast(command.at, now)
    })
    it.prop(`${code} has a sentence and a next step, whatever is known`, [Arbitrary.schema(Figures)], ([figures]) => {
      for (const known of [{}, figures]) {
        const { next, reason } = explain(cause(code as KnownCode, known), false)
        assert.isTrue(isSentence(reason), reason)
        assert.isTrue(isSentence(next), next)
      }
    })
  }

  it("in_pool, which the answer of a node sets, has a sentence and a next step", () => {
    const { next, reason } = explain(cause("in_pool", { sends: 1 }), false)
    assert.match(reason, /in its queue/)
    assert.isTrue(isSentence(reason) && isSentence(next), next)
  })

  it("says which transaction it waits for, and until when", () => {
    const figures = { sequence: n, until: now }
    const { next, reason } = explain(cause("landing_unproven", figures), false)
    assert.include(
      reason,
      `The transaction's sequence ${n} is used, and no RPC provider shows yet by which transaction.`
    )
    assert.include(next, "An operator may decide at 1970-01-12T13:46:40.000Z.")
    const second = explain(cause("landing_unproven", { ...figures, host: "https://two.example" }), false)
    assert.include(second.reason, "https://two.example does not show yet by which transaction.")
  })

  it("names the ledger that contains it", () => {
    assert.include(explain(cause("confirmed", { ledger: applied.ledger }), true).reason, "ledger 499")
  })
})
