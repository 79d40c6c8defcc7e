// What an operator may answer about a stellar transaction of a restored database, and when.
import { Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import type { Cause } from "../../../../src/networks/core/Cause.ts"
import { decide } from "../../../../src/networks/stellar/rules/StellarDecision.ts"
import { stellarRules } from "../../../../src/networks/stellar/rules/StellarRules.ts"
import type { StellarSeen } from "../../../../src/networks/stellar/rules/StellarSeen.ts"
import { clock, lane, look, n, newest, now, pending, ready, seen, situation, submitted } from "./Situations.ts"

const restored = { ...pending, restored: true }

/** Seconds: the longest envelope, and what the clocks may differ. */
const life = 360

/** The view of two providers whose newest ledgers closed at these times, in seconds after now. */
const closed = (...seconds: ReadonlyArray<number>): StellarSeen =>
  seen(seconds.map((after) => look(n - 1n, {}, { number: newest.number + 100, closeTime: clock + after })))

/** The cause after a look at these views, one after the other. */
const causeAfter = (...views: ReadonlyArray<StellarSeen>): Cause | undefined =>
  views.reduce<Cause | undefined>((former, view) => {
    const transaction = former === undefined ? restored : { ...restored, cause: former }
    const [first] = decide(situation(transaction, view))
    return first._tag === "Hold" ? first.cause : assert.fail(first._tag)
  }, undefined)

const answer = (why: Cause | undefined, given: "send" | "give_up" = "send") =>
  stellarRules.resolve?.(why === undefined ? restored : { ...restored, cause: why }, given, {
    lane: lane(),
    now,
    usedBelow: 0n
  }) ?? assert.fail("no rule")

const refusal = (why: Cause | undefined) =>
  Result.match(answer(why), { onSuccess: ({ _tag }) => _tag, onFailure: ({ error }) => error })

describe("a stellar transaction of a restored database", () => {
  it("is not sent again before its account was read", () => {
    assert.include(refusal(undefined), "its account was not read since the restore")
    assert.include(refusal(cause("restored_unproven")), "its account was not read since the restore")
  })

  it("is not sent again while an envelope that the database has forgotten can be applied", () => {
    for (const later of [0, life - 1, life]) {
      assert.include(refusal(causeAfter(closed(0, 0), closed(later, later))), "until a ledger closes after", `${later}`)
    }
    assert.strictEqual(refusal(causeAfter(closed(0, 0), closed(life + 1, life + 1))), "Requeue")
  })

  it("is not sent again because of the close time of one of two providers", () => {
    assert.include(refusal(causeAfter(closed(0, 0), closed(life + 1, 10), closed(10, life + 1))), "try again later")
    assert.include(refusal(causeAfter(closed(0, -1000), closed(life, life))), "try again later")
    assert.strictEqual(refusal(causeAfter(closed(0, 100_000), closed(life + 1, life + 1))), "Requeue")
  })

  it("is not sent again because of one of two providers while the other one does not answer", () => {
    const alone = { ...closed(life + 1), configured: 2 }
    assert.include(refusal(causeAfter(closed(0, 0), alone)), "try again later")
  })

  it("keeps what it has learnt when a later look has less", () => {
    const away: StellarSeen = { ...closed(0), configured: 2 }
    assert.strictEqual(refusal(causeAfter(closed(0, 0), closed(life + 1, life + 1), away)), "Requeue")
  })

  it("is given up at any time", () => {
    const given = answer(undefined, "give_up")
    assert.isTrue(Result.isSuccess(given) && given.success._tag === "Finish")
  })

  it("with a sequence that providers no longer prove is decided after every provider shows it as used", () => {
    const unproven = { ...submitted, cause: cause("nonce_taken_unproven") }
    const resolved = (usedBelow: bigint) =>
      stellarRules.resolve?.(unproven, "give_up", { lane: lane(), now, usedBelow }) ?? assert.fail("no rule")
    const open = resolved(n)
    assert.include(Result.isFailure(open) ? open.failure.error : "", `its nonce ${n} is open`)
    const used = resolved(n + 1n)
    assert.isTrue(Result.isSuccess(used) && used.success._tag === "Intend")
  })

  it("with a sequence of a channel that providers no longer prove is decided whatever the relayer's own account has used", () => {
    const place = { account: ready().address, sequence: 90n << 32n }
    const unproven = { ...submitted, place, cause: cause("nonce_taken_unproven") }
    const known = { lane: lane(false, [ready(true)]), now, usedBelow: n }
    for (const [answer, command] of [
      ["send", "Requeue"],
      ["give_up", "Intend"]
    ] as const) {
      const found = stellarRules.resolve?.(unproven, answer, known) ?? assert.fail("no rule")
      assert.isTrue(Result.isSuccess(found) && found.success._tag === command)
    }
  })

  it("does not wait for an operator while its place can be proven", () => {
    const found = stellarRules.resolve?.({ ...submitted, restored: true }, "send", { lane: lane(), now, usedBelow: 0n })
    assert.isTrue(found !== undefined && Result.isFailure(found))
  })
})
