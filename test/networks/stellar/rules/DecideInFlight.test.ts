// A transaction with envelopes: each line of the table of decisions, and what two providers prove.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import { decide } from "../../../../src/networks/stellar/rules/StellarDecision.ts"
import { unseenPatience } from "../../../../src/networks/stellar/rules/StellarNumbers.ts"
import { explain } from "../../../../src/networks/stellar/rules/StellarWords.ts"
import {
  alive,
  applied,
  attempt,
  check,
  clock,
  dead,
  first,
  foreign,
  forgotten,
  found,
  guestSubmitted,
  look,
  n,
  now,
  past,
  preparation,
  proven,
  seen,
  situation,
  submitted,
  taken,
  unseen,
  withAttempt
} from "./Situations.ts"

const one = (which: ReturnType<typeof look>) => seen([which], proven)
/** Milliseconds. */
const week = 604_800_000
const late = { ...submitted, validUntil: now }
const canceled = { ...submitted, intent: "cancel" as const }
const restored = { ...submitted, restored: true }
const failed = { isSuccess: false, code: "txFailed", operations: ["paymentUnderfunded"] }
const guestDead = look(69n, {}, { number: 520, closeTime: clock + 101 })
const guestFound = look(70n, { testimony: { found: applied } })

describe("one provider decides alone if it is the only one", () => {
  check([
    ["applied", situation(submitted, one(found())), "Finish confirmed confirmed next 1"],
    ["applied after the deadline", situation(late, one(found())), "Finish confirmed executed_late next 1"],
    ["applied after a cancel", situation(canceled, one(found())), "Finish confirmed executed_late next 1"],
    ["applied, with a failure", situation(submitted, one(found(failed))), "Finish failed operation_failed next 1"],
    [
      "applied by another payer",
      situation(submitted, one(found({ hash: "zz" }))),
      "Finish confirmed executed_by_other next 1"
    ],
    ["taken", situation(submitted, one(taken())), "Requeue nonce_taken 1 next 1"],
    [
      "taken, with a jump of the sequence",
      situation(submitted, one(taken({}, n + 5n))),
      "Requeue nonce_taken 1 next 6"
    ],
    ["taken, restored", situation(restored, one(taken())), "Requeue restored_unproven 0 restored next 1"],
    ["taken, canceled", situation(canceled, one(taken())), "Finish canceled canceled next 1"],
    ["taken after the deadline", situation(late, one(taken())), "Finish expired deadline_passed next 1"],
    [
      "taken for the fourth time",
      situation({ ...submitted, requeues: 3 }, one(taken())),
      "Finish failed nonce_taken_too_often next 1"
    ],
    [
      "taken for the fourth time, by an envelope that a caller got signed",
      situation({ ...submitted, requeues: 3 }, one(taken({ isGiven: true }))),
      "Requeue nonce_taken 3 next 1"
    ],
    [
      "taken, with a required sequence",
      situation({ ...submitted, requiredSequence: n }, one(taken())),
      "Finish failed nonce_unavailable next 1"
    ],
    ["dead", situation(submitted, one(dead)), "Requeue queued 0 next 0"],
    [
      "dead, below a sequence that a lie had raised",
      situation(submitted, one(look(n - 9n, {}, past))),
      "Requeue queued 0 next -8"
    ],
    ["dead, restored", situation(restored, one(dead)), "Requeue restored_unproven 0 restored next 0"],
    ["dead, canceled", situation(canceled, one(dead)), "Finish canceled canceled next 0"],
    ["dead after the deadline", situation(late, one(dead)), "Finish expired deadline_passed next 0"],
    [
      "dead, refused by all",
      situation(withAttempt({ outcome: "refused", refusal: { class: "permanent", result: "txBadAuth" } }), one(dead)),
      "Finish failed refused_by_all next 0"
    ],
    ["unproven", situation(submitted, one(forgotten)), "Hold nonce_taken_unproven"],
    [
      "unproven, given up by an operator",
      situation({ ...submitted, intent: "clear", clearCode: "nonce_taken_unproven" }, one(forgotten)),
      "Finish failed nonce_taken_unproven next 1"
    ],
    ["a guest's, dead", situation(guestSubmitted, one(guestDead)), "Finish expired deadline_passed"],
    ["a guest's, applied", situation(guestSubmitted, one(guestFound)), "Finish confirmed confirmed"],
    [
      "a guest's, taken",
      situation(guestSubmitted, one(look(70n, { testimony: { scan: { use: { hashes: [foreign] } } } }))),
      "Finish failed sequence_used"
    ]
  ])

  it("names the transaction that used its sequence", () => {
    const [command] = decide(situation(submitted, one(taken())))
    assert.strictEqual(command._tag === "Requeue" ? command.cause.figures.hash : undefined, foreign)
  })

  it("costs nothing if another payer applied it [27]", () => {
    const [command] = decide(
      situation(guestSubmitted, one(look(70n, { testimony: { found: { ...applied, hash: "bb" } } })))
    )
    assert.strictEqual(command._tag === "Finish" ? command.cause.code : undefined, "executed_by_other")
    assert.strictEqual(command._tag === "Finish" ? command.mined?.receipt.paid : undefined, 0n)
  })

  it("is not believed while its lane is on another chain, and nothing is decided while no provider answers", () => {
    assert.strictEqual(
      first(situation(submitted, one(found()), { stop: cause("chain_changed") })),
      "Hold chain_changed"
    )
    const unreachable = { _tag: "Unreachable", code: "providers_unavailable", retryAt: now + 9 } as const
    assert.strictEqual(first(situation(submitted, unreachable)), "Hold providers_unavailable")
  })

  it("keeps the place of what was applied, and gives up that of what was not", () => {
    const [confirmed] = decide(situation(submitted, one(found())))
    const [expired] = decide(situation(late, one(dead)))
    assert.isFalse("losesPlace" in confirmed)
    assert.isTrue("losesPlace" in expired)
  })
})

describe("a transaction whose sequence is used by a transaction that its provider does not show yet", () => {
  const patient = { cause: cause("landing_unproven"), causeSince: now - unseenPatience + 1 }
  const over = { ...patient, causeSince: now - unseenPatience }
  const gone = look(undefined, { testimony: { scan: {} } })
  const guestUnseen = look(70n, { testimony: { scan: {} } })
  const refused = withAttempt({ outcome: "unknown", refusal: { class: "fee", needed: 5000n }, lastSentAt: now - 9000 })
  check([
    ["waits", situation(submitted, one(unseen)), "Hold landing_unproven"],
    ["waits if its account does not exist any more", situation(submitted, one(gone)), "Hold landing_unproven"],
    ["waits if its provider did not answer", situation(submitted, one(look(n))), "Hold landing_unproven"],
    [
      "waits if its provider stands still",
      situation(submitted, one({ ...unseen, isStalled: true })),
      "Hold landing_unproven"
    ],
    ["waits after its deadline", situation(late, one(unseen)), "Hold landing_unproven"],
    ["waits after a cancel", situation(canceled, one(unseen)), "Hold landing_unproven"],
    ["waits if it is restored", situation(restored, one(unseen)), "Hold landing_unproven"],
    [
      "waits with a required sequence",
      situation({ ...submitted, requiredSequence: n }, one(unseen)),
      "Hold landing_unproven"
    ],
    ["waits if it is a guest's", situation(guestSubmitted, one(guestUnseen)), "Hold landing_unproven"],
    ["is not signed again", situation(refused, seen([unseen], { ...proven, preparation })), "Hold landing_unproven"],
    ["waits until its time is over", situation({ ...submitted, ...patient }, one(unseen)), "Hold landing_unproven"],
    [
      "is for an operator when its time is over",
      situation({ ...submitted, ...over }, one(unseen)),
      "Hold nonce_taken_unproven"
    ],
    [
      "stays for an operator",
      situation({ ...submitted, cause: cause("nonce_taken_unproven"), causeSince: now }, one(unseen)),
      "Hold nonce_taken_unproven"
    ],
    [
      "ends as the operator says",
      situation(
        { ...submitted, intent: "clear", clearCode: "nonce_taken_unproven", cause: cause("nonce_taken_unproven") },
        one(unseen)
      ),
      "Finish failed nonce_taken_unproven next 1"
    ],
    [
      "is decided when it is shown, also when it is for an operator",
      situation({ ...submitted, cause: cause("nonce_taken_unproven"), causeSince: now }, one(found())),
      "Finish confirmed confirmed next 1"
    ]
  ])

  it("is not sent meanwhile, and says until when it waits", () => {
    const commands = decide(situation({ ...submitted, ...patient }, one(unseen)))
    assert.deepStrictEqual(
      commands.map(({ _tag }) => _tag),
      ["Hold", "PollAt"]
    )
    const [command] = commands
    const figures = command._tag === "Hold" ? command.cause.figures : {}
    assert.deepStrictEqual(figures, { sequence: n, until: now + 1 })
  })
})

describe("a transaction whose envelope is alive", () => {
  const refused = (refusal: NonNullable<typeof attempt.refusal>, more = {}) =>
    withAttempt({ outcome: "unknown", refusal, lastSentAt: now - 9000 }, more)
  const fee = refused({ class: "fee", needed: 5000n })
  const again = seen([alive], { preparation })
  const four = { attempts: [1, 2, 3, 4].map((ordinal) => ({ ...fee.attempts[0]!, ordinal })) }
  const expiring = look(n - 1n, {}, { number: 509, closeTime: clock + 41 })
  check([
    ["is looked for when its account has reached the sequence", situation(submitted, seen([look(n)])), "Ask proof"],
    ["is looked for when its account is gone", situation(submitted, seen([look(undefined)])), "Ask proof"],
    ["waits in the queue", situation(submitted, seen([alive])), "Hold in_queue"],
    [
      "waits until nodes take it",
      situation(refused({ class: "not_now", times: 3 }), seen([alive])),
      "Hold try_again_later"
    ],
    [
      "waits for funds that a node misses",
      situation(refused({ class: "funds" }), seen([alive])),
      "Hold insufficient_funds"
    ],
    ["waits for its end when it was canceled", situation(canceled, seen([alive])), "Hold canceling"],
    ["waits for its end shortly before it", situation(submitted, seen([expiring])), "Hold awaiting_expiry"],
    [
      "is sent again when a node calls it too late before its time",
      situation(refused({ class: "too_late", result: "txTooLate" }), seen([alive])),
      "Hold try_again_later"
    ],
    [
      "is sent again when a node says that its sequence is used",
      situation(refused({ class: "look", result: "txBadSeq" }), seen([alive])),
      "Hold try_again_later"
    ],
    [
      "waits for its end when all nodes refuse it for good",
      situation(refused({ class: "permanent", result: "txMalformed" }), seen([alive])),
      "Hold awaiting_expiry"
    ],
    [
      "waits for its end when no ledger was seen for so long that nodes call it too late",
      situation(
        submitted,
        seen([look(n - 1n, {}, { number: 509, closeTime: clock + 20 })], { newestSince: now - 20_000 })
      ),
      "Hold awaiting_expiry"
    ],
    [
      "is sent while its network aims at ledgers of four seconds",
      situation(
        submitted,
        seen([look(n - 1n, {}, { number: 509, closeTime: clock + 39 })], {
          settings: { baseFee: 100n, baseReserve: 5_000_000n, closeTime: 4000 }
        })
      ),
      "Hold in_queue"
    ],
    [
      "waits for a ledger when the network stands still",
      situation(submitted, seen([expiring], { newestSince: now - 60_001 })),
      "Hold ledger_stalled"
    ],
    ["is prepared again when its fee is refused", situation(fee, seen([alive])), "Ask prepare"],
    ["is signed again at the needed fee", situation(fee, again), "Sign refresh 5000"],
    ["is signed again for wrong resources", situation(refused({ class: "resources" }), again), "Sign refresh 600"],
    ["is signed again as a new version", situation({ ...fee, versions: [{}, {}] }, again), "Sign replace 5000"],
    [
      "waits when the needed fee is above the cap",
      situation(fee, again, { terms: { cap: 4999n } }),
      "Hold fee_above_cap"
    ],
    ["is not signed a fifth time at one place", situation({ ...fee, ...four }, again), "Hold try_again_later"],
    [
      "is not signed for a fee above what the API key has left",
      situation(fee, again, { terms: { feeLimit: 4999n } }),
      "Hold fee_above_cap"
    ],
    ["is not signed again after a cancel", situation({ ...fee, intent: "cancel" }, again), "Hold canceling"],
    ["is not signed again when it is restored", situation({ ...fee, restored: true }, again), "Hold try_again_later"],
    [
      "is not signed again while its relayer is paused",
      situation(fee, again, { terms: { isPaused: true } }),
      "Hold try_again_later"
    ],
    [
      "does not fail while its bytes are out",
      situation(
        fee,
        seen([alive], { preparation: { ...preparation, broken: { code: "auth_not_granted", detail: "" } } })
      ),
      "Hold try_again_later"
    ]
  ])

  /** What an envelope at the same place offers, if a provider shows its newest ledger like this. */
  const offered = (newest: { readonly number: number; readonly closeTime: number }) => {
    const view = seen([look(n - 1n, { newest })], { preparation })
    const [command] = decide(situation({ ...fee, validUntil: now + week }, view))
    return command._tag === "Sign" ? command.offer : assert.fail(command._tag)
  }

  it("lives for two minutes by the clock, if a provider says a close time in six days [44]", () => {
    assert.strictEqual(offered({ number: 501, closeTime: clock + 6 * 86_400 }).maxTime, clock + 120)
  })

  it("is looked for from the ledger on that was seen before the first envelope of its place [43]", () => {
    assert.strictEqual(offered({ number: 501, closeTime: clock - 1 }).seenLedger, 490)
  })

  const broadcasts = (transaction: typeof submitted, view = seen([alive])) =>
    decide(situation(transaction, view)).some(({ _tag }) => _tag === "Broadcast")

  it("is sent again after two ledgers if a node took it, after one if not, and after a second if nobody knows", () => {
    const sent = (ago: number, over = {}) => broadcasts(withAttempt({ lastSentAt: now - ago, ...over }))
    assert.deepStrictEqual([sent(9999), sent(10_000)], [false, true])
    const later = { outcome: "unknown", refusal: { class: "not_now" } } as const
    assert.deepStrictEqual([sent(4999, later), sent(5000, later)], [false, true])
    const unknown = { outcome: "unknown" } as const
    assert.deepStrictEqual([sent(999, unknown), sent(1000, unknown)], [false, true])
    const { lastSentAt: _, ...unsent } = attempt
    assert.isTrue(broadcasts({ ...submitted, attempts: [{ ...unsent, sends: 0, outcome: "unknown" }] }))
  })

  it("is not sent in the last ten seconds, and never after a refusal for good", () => {
    const due = { lastSentAt: now - 20_000 }
    const at = (closeTime: number) => seen([look(n - 1n, {}, { number: 509, closeTime })], { newestSince: now })
    assert.isFalse(broadcasts(withAttempt(due), at(clock + 40)))
    assert.isTrue(broadcasts(withAttempt(due), at(clock + 39)))
    assert.isFalse(broadcasts(withAttempt({ ...due, outcome: "refused", refusal: { class: "permanent" } })))
  })

  it("is sent again after a refusal that says nothing about later sends", () => {
    const at = (refusal: NonNullable<typeof attempt.refusal>) =>
      broadcasts(withAttempt({ lastSentAt: now - 5000, outcome: "unknown", refusal }))
    assert.isTrue(at({ class: "too_late", result: "txTooLate" }))
    assert.isTrue(at({ class: "not_now", result: "txUnknown(-42)" }))
    assert.isTrue(at({ class: "not_now", result: "filtered" }))
  })

  /** The sentence that people read. */
  const reasonOf = (decided: ReturnType<typeof situation>): string => {
    const [command] = decide(decided)
    return command._tag === "Hold" ? explain(command.cause, false).reason : assert.fail(command._tag)
  }

  it("says what nodes refused, and never that none has received it", () => {
    const said = (refusal: NonNullable<typeof attempt.refusal>, more = {}, view = seen([alive])) =>
      reasonOf(situation(refused(refusal, more), view))
    const funds = said({ class: "funds", result: "txInsufficientBalance" })
    assert.match(funds, /^Nodes refused it: txInsufficientBalance\. It needs 210 stroops\. The account has 990000000 /u)
    const { payer: _, ...unpaid } = alive
    const unread = seen([unpaid])
    const unknown = said({ class: "funds", result: "txInsufficientBalance" }, {}, unread)
    assert.match(unknown, /^Nodes refused it: txInsufficientBalance\. The account that pays has too little/u)
    const permanent = said({ class: "permanent", result: "txFrozenKeyAccessed" })
    assert.match(permanent, /^Nodes refused it: txFrozenKeyAccessed\. It is not sent again/u)
    const asks = said({ class: "fee", needed: 4000n, result: "txInsufficientFee" }, { restored: true })
    assert.match(asks, /^Nodes refused it: txInsufficientFee\. They ask for 4000 stroops\. /u)
    assert.match(said({ class: "not_now", result: "filtered" }), /FILTERED/u)
    assert.match(said({ class: "not_now", result: "txUnknown(-42)" }), /txUnknown\(-42\)/u)
    assert.match(said({ class: "resources", result: "txSorobanInvalid" }, { restored: true }), /txSorobanInvalid/u)
  })

  it("says at its end what nodes refused last", () => {
    const refusal = { class: "resources", result: "txSorobanInvalid" } as const
    const [command] = decide(situation(withAttempt({ outcome: "unknown", refusal }, { validUntil: now }), one(dead)))
    const why = command._tag === "Finish" ? command.cause : assert.fail(command._tag)
    assert.deepStrictEqual(why, cause("deadline_passed", { error: "txSorobanInvalid" }))
    assert.match(explain(why, true).reason, /^Nodes refused it: txSorobanInvalid\. Its deadline passed/u)
  })

  it("is not decided by time: an hour after its end it still waits for a ledger", () => {
    assert.strictEqual(
      first(situation(submitted, seen([alive], { newestSince: now - 100_000 }), { now: now + 3_600_000 })),
      "Hold ledger_stalled"
    )
  })
})
