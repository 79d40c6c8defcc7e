// A pending transaction: each line of the table of decisions.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import { decide } from "../../../../src/networks/stellar/rules/StellarDecision.ts"
import { unseenPatience } from "../../../../src/networks/stellar/rules/StellarNumbers.ts"
import type { Testimony } from "../../../../src/networks/stellar/rules/StellarSeen.ts"
import { maxInt64 } from "../../../../src/networks/stellar/rules/StellarValues.ts"
import {
  applied,
  check,
  clock,
  entry,
  foreign,
  guest,
  guestPending,
  lane,
  look,
  n,
  now,
  pending,
  prepared,
  proven,
  ready,
  seen,
  situation
} from "./Situations.ts"

const unreachable = { _tag: "Unreachable", code: "providers_unavailable", retryAt: now + 9 } as const
const both = (one = look(n - 1n)) => seen([one, one])
const closed = (closeTime: number) => ({ number: 500, closeTime })
const withPayer = (over: Partial<typeof entry>) => look(n - 1n, { payer: { ...entry, ...over } })
const guestLook = (sequence: bigint, testimony: Testimony = {}) => look(sequence, { testimony })
const survey = { taken: new Map([["x", clock + 9]]), guests: 64, hasPendingGuests: false }

describe("a pending transaction, by the ledger", () => {
  check([
    ["is left alone when it is final", situation({ ...pending, state: "failed" }, both()), "Rest"],
    [
      "waits if its lane is on another chain",
      situation(pending, both(), { stop: cause("chain_changed") }),
      "Hold chain_changed"
    ],
    [
      "waits for the operator if it is restored",
      situation({ ...pending, restored: true }, both()),
      "Hold restored_unproven"
    ],
    ["is canceled", situation({ ...pending, intent: "cancel" }, both()), "Finish canceled canceled"],
    ["expires", situation({ ...pending, validUntil: now }, both()), "Finish expired deadline_passed"],
    [
      "fails if the policy no longer allows it",
      situation(pending, both(), { terms: { isAllowed: false } }),
      "Finish failed policy_changed"
    ],
    [
      "waits while its relayer is paused",
      situation(pending, both(), { terms: { isPaused: true } }),
      "Hold relayer_paused"
    ],
    [
      "waits while its relayer is disabled",
      situation(pending, both(), { terms: { disabled: "relayer_disabled" } }),
      "Hold relayer_disabled"
    ],
    ["waits until not_before", situation({ ...pending, notBefore: now + 1 }, both()), "Hold not_before"],
    [
      "waits for its signer",
      situation(pending, both(), { signerRetry: { code: "signer_unavailable", at: now + 5 } }),
      "Hold signer_unavailable"
    ],
    ["waits for providers", situation(pending, unreachable), "Hold providers_unavailable"]
  ])
})

describe("a pending transaction, by clock and account", () => {
  const late = look(n - 1n, {}, closed(clock - 61))
  check([
    [
      "is not signed if the clock is behind",
      situation(pending, both(look(n - 1n, {}, closed(clock + 61)))),
      "Hold clock_skew"
    ],
    ["is not signed if the clock is ahead", situation(pending, both(late)), "Hold clock_skew"],
    [
      "waits for a ledger if none was seen for a minute",
      situation(pending, seen([late, late], { newestSince: now - 60_001 })),
      "Hold ledger_stalled"
    ],
    [
      "is not signed shortly before its deadline",
      situation({ ...pending, validUntil: now + 12_000 }, both()),
      "Hold expiring"
    ],
    [
      "is not signed while one of two providers answers",
      situation(pending, prepared({}, [look(n - 1n), { ...look(n - 1n), isStalled: true }])),
      "Hold providers_unavailable"
    ],
    ["waits for its account", situation(pending, both(look(undefined, { payer: null }))), "Hold no_account"],
    [
      "is not signed if its signer has too little weight",
      situation(pending, both(withPayer({ masterWeight: 1, mediumThreshold: 2 }))),
      "Hold signer_unauthorized"
    ],
    [
      "is not signed if the signer was removed",
      situation(pending, both(withPayer({ masterWeight: 0 }))),
      "Hold signer_unauthorized"
    ],
    ["is not signed at the largest sequence", situation(pending, both(look(maxInt64 - 1n))), "Hold sequence_exhausted"],
    ["is not signed after the last sequence", situation(pending, both(look(maxInt64))), "Hold sequence_exhausted"],
    [
      "fails if the sequence that it requires is used",
      situation({ ...pending, requiredSequence: n - 1n }, both()),
      "Finish failed nonce_unavailable"
    ],
    [
      "waits for the sequence that it requires",
      situation({ ...pending, requiredSequence: n + 1n }, both(), { rest: { isPendingBefore: true } }),
      "Hold waits_for_predecessors"
    ],
    [
      "fails if nothing leads to the sequence that it requires",
      situation({ ...pending, requiredSequence: n + 1n }, both()),
      "Finish failed nonce_unavailable"
    ],
    [
      "waits while a signature that a caller got may use the sequence",
      situation(pending, seen([look(n - 1n)], { given: [{ hash: "cc", sequence: n, maxTime: clock + 30 }] })),
      "Hold lane_window_full"
    ],
    [
      "is signed while a signature that a caller got is for a later sequence",
      situation(pending, seen([look(n - 1n)], { given: [{ hash: "cc", sequence: n + 1n, maxTime: clock + 30 }] })),
      "Ask prepare"
    ],
    [
      "is signed after a ledger has closed that is too late for the signature that a caller got",
      situation(pending, seen([look(n - 1n)], { given: [{ hash: "cc", sequence: n, maxTime: clock - 30 }] })),
      "Ask prepare"
    ],
    [
      "waits while the account has one in flight",
      situation(pending, both(), { lane: lane(true) }),
      "Hold lane_window_full"
    ],
    [
      "gets a channel while the account has one in flight",
      situation(pending, both(), { lane: lane(true, [ready()]), terms: { usesChannels: true } }),
      "Ask prepare"
    ],
    [
      "gets no channel that its relayer may not use",
      situation(pending, both(), { lane: lane(true, [ready()]) }),
      "Hold lane_window_full"
    ],
    [
      "gets no channel that is in use",
      situation(pending, both(), { lane: lane(true, [ready(true)]), terms: { usesChannels: true } }),
      "Hold lane_window_full"
    ],
    ["is prepared before it is signed", situation(pending, both()), "Ask prepare"],
    [
      "is not signed while one of two providers fails for a moment",
      situation(pending, { ...both(), looks: [look(n - 1n)], aloneSince: now - 9999 }),
      "Hold providers_unavailable"
    ],
    [
      "is signed by the view of one provider if the other one is away",
      situation(pending, { ...both(), looks: [look(n - 1n)], aloneSince: now - 10_000 }),
      "Ask prepare"
    ],
    [
      "asks no provider that stands still",
      situation(pending, seen([look(n - 1n, { isStalled: true })])),
      "Hold providers_unavailable"
    ]
  ])
})

describe("an envelope of a guest", () => {
  const otherUse: Testimony = { scan: { use: { hashes: [foreign] } } }
  const lagging = { cause: cause("landing_unproven"), causeSince: now - 9000, validUntil: now }
  check([
    ["is signed at exactly the next sequence", situation(guestPending, both(guestLook(69n))), "Ask prepare"],
    ["waits for its predecessors", situation(guestPending, both(guestLook(60n))), "Hold waits_for_predecessors"],
    [
      "waits for a provider that is behind",
      situation(guestPending, seen([guestLook(70n), guestLook(69n)])),
      "Hold second_provider_behind"
    ],
    ["is looked for if its sequence is used", situation(guestPending, both(guestLook(70n))), "Ask proof"],
    [
      "has failed if another one used its sequence",
      situation(guestPending, seen([guestLook(70n, otherUse), guestLook(71n, otherUse)], proven)),
      "Finish failed sequence_used"
    ],
    [
      "waits while its providers do not show what used its sequence",
      situation(guestPending, seen([guestLook(70n, { scan: {} }), guestLook(70n)], proven)),
      "Hold landing_unproven"
    ],
    [
      "waits while one of its providers does not show what used its sequence",
      situation(guestPending, seen([guestLook(70n, otherUse), guestLook(70n)], proven)),
      "Hold landing_unproven"
    ],
    [
      "waits if its providers keep no ledger that shows what used its sequence",
      situation(guestPending, seen([guestLook(70n, { oldestLedger: 400 })], proven)),
      "Hold landing_unproven"
    ],
    [
      "is looked for shortly before its deadline",
      situation({ ...guestPending, validUntil: now + 1 }, both(guestLook(70n))),
      "Ask proof"
    ],
    [
      "waits after its deadline for the transaction that used its sequence",
      situation({ ...guestPending, ...lagging }, seen([guestLook(70n)], proven)),
      "Hold landing_unproven"
    ],
    [
      "expires if that transaction is not shown for long after its deadline",
      situation({ ...guestPending, ...lagging, validUntil: now - unseenPatience }, seen([guestLook(70n)], proven)),
      "Finish expired deadline_passed"
    ],
    [
      "expires at its deadline otherwise",
      situation({ ...guestPending, validUntil: now }, both(guestLook(70n))),
      "Finish expired deadline_passed"
    ],
    [
      "is confirmed if its user sent it",
      situation(guestPending, seen([guestLook(70n, { found: { ...applied, hash: "bb" } })], proven)),
      "Finish confirmed executed_by_other"
    ],
    [
      "has failed if its user sent it, and it failed",
      situation(
        guestPending,
        seen([guestLook(70n, { found: { ...applied, isSuccess: false, code: "txFailed" } })], proven)
      ),
      "Finish failed operation_failed"
    ],
    [
      "is undecided while only one of two providers answers",
      situation(guestPending, {
        ...seen([guestLook(70n, { found: { ...applied, hash: "bb" } })], proven),
        configured: 2,
        aloneSince: now - 10_000
      }),
      "Hold second_provider_missing"
    ],
    [
      "waits for the index of a provider that does not find it yet",
      situation(guestPending, seen([guestLook(70n, { found: applied }), guestLook(70n)], proven)),
      "Hold landing_unproven"
    ],
    [
      "has a place beside those of the account",
      situation(guestPending, both(guestLook(69n)), { lane: lane(true) }),
      "Ask prepare"
    ],
    [
      "waits if 64 others are in flight",
      situation(guestPending, both(guestLook(69n)), { rest: { survey } }),
      "Hold lane_window_full"
    ],
    [
      "offers the rate of the inner envelope at least",
      situation(guestPending, prepared({ inner: { fee: 1000n }, operations: 1 }, [guestLook(69n)])),
      "Sign original 2000"
    ]
  ])

  it("dies with the time bounds of its user", () => {
    const [command] = decide(situation(guestPending, prepared({ inner: { fee: 100n } }, [guestLook(69n)])))
    assert.strictEqual(command._tag === "Sign" && command.offer.maxTime, guest.maxTime)
    assert.strictEqual(command._tag === "Sign" && command.offer.innerHash, "bb")
  })
})
