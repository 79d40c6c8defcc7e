// What is prepared: rules, price and funds decide before each signature.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import { decide } from "../../../../src/networks/stellar/rules/StellarDecision.ts"
import { signsAloneAfter } from "../../../../src/networks/stellar/rules/StellarNumbers.ts"
import {
  attempt,
  check,
  clock,
  entry,
  lane,
  look,
  n,
  newest,
  now,
  pending,
  preparation,
  prepared,
  ready,
  seen,
  situation
} from "./Situations.ts"

const closed = (closeTime: number) => ({ number: 500, closeTime })
const noStats = { operations: 1, out: 0n }

/** A unit of the token is worth a stroop, and 1 % of slippage is allowed: 150 stroops need 149 units. */
const paying = (amount: bigint) =>
  prepared({ payment: { _tag: "Priced", asset: "USD", amount, price: { units: 1n, native: 1n }, slippage: 1 } })

/** A provider that says that others bid more than any account has. */
const fabulous = { stats: { p95: 2n ** 60n, p99: 2n ** 61n } }
const rich = look(n - 1n, { payer: { ...entry, balance: 2n ** 60n } })
/** 25 XLM. */
const poor = look(n - 1n, { payer: { ...entry, balance: 250_000_000n, subentries: 0 } })

const pays10 = { ...preparation, out: 100_000_000n }
/** What the first ledger of a network of stellar-core has. */
const standalone = { baseFee: 100n, baseReserve: 100_000_000n }

const archived = prepared({ soroban: { _tag: "NeedsRestore", fee: 9n, data: "AA", resourceFee: 1000n } })
const paysRestore = { ...pending, versions: [{ operations: [], restore_footprint: true }] as const }

/** Milliseconds. */
const hour = 3_600_000

const hides = (isOnlyOne: boolean) => ({ unshown: { host: "node.example", isOnlyOne, detail: "x" } })

const hiddenSince = (before: number) => ({
  ...pending,
  cause: cause("second_provider_missing"),
  causeSince: now - before
})

describe("a prepared transaction", () => {
  const call = (over: object) =>
    prepared({ soroban: { _tag: "Succeeds", resourceFee: 1000n, data: "AA", recorded: [], ...over } })
  check([
    ["is signed for what others pay", situation(pending, prepared()), "Sign original 150"],
    [
      "is signed for ten times the least if no provider says what others pay",
      situation(pending, seen([look(n - 1n)], { preparation: noStats })),
      "Sign original 1000"
    ],
    [
      "offers more after an envelope has died",
      situation({ ...pending, attempts: [], requeues: 0 }, prepared({ stats: { p95: 1n, p99: 400n } })),
      "Sign original 100"
    ],
    [
      "is signed at the present price after an envelope has died for which a node asked more than it may cost",
      situation(
        { ...pending, attempts: [{ ...attempt, refusal: { class: "fee", needed: 5_000_000n } }] },
        prepared({ stats: { p95: 150n, p99: 200n } })
      ),
      "Sign original 400"
    ],
    [
      "fails by the rule that needs the chain",
      situation(pending, prepared({ broken: { code: "auth_not_granted", detail: "x" } })),
      "Finish failed auth_not_granted"
    ],
    [
      "fails as policy_changed by a rule of admission",
      situation(pending, prepared({ broken: { code: "operation_not_allowed", detail: "x" } })),
      "Finish failed policy_changed"
    ],
    ["waits for a price", situation(pending, prepared({ payment: { _tag: "NoPrice" } })), "Hold price_unavailable"],
    [
      "waits if no provider shows the accounts of its payment",
      situation(pending, prepared({ payment: { _tag: "Unreadable" } })),
      "Hold providers_unavailable"
    ],
    [
      "is signed for a payment that is too low by no more than the slippage",
      situation(pending, paying(149n)),
      "Sign original 150"
    ],
    [
      "fails if its payment is worth less than the fee at the present price",
      situation(pending, paying(148n)),
      "Finish failed payment_insufficient"
    ],
    [
      "fails if its simulation fails",
      situation(pending, prepared({ soroban: { _tag: "Fails", error: "trap" } })),
      "Finish failed would_fail"
    ],
    [
      "waits if its simulation fails while another one is in flight",
      situation(pending, prepared({ soroban: { _tag: "Fails", error: "trap" } }), { rest: { inFlight: 1 } }),
      "Hold waits_for_predecessors"
    ],
    [
      "waits if its simulation fails at one of two",
      situation(pending, prepared({ soroban: { _tag: "Disagrees" } })),
      "Hold providers_disagree"
    ],
    [
      "waits if only one provider simulates it",
      situation(pending, prepared({ soroban: { _tag: "FailsAlone" } })),
      "Hold second_provider_missing"
    ],
    [
      "waits if no provider simulates it",
      situation(pending, prepared({ soroban: { _tag: "Unknown" } })),
      "Hold providers_unavailable"
    ],
    [
      "waits if the only provider hides what it changes",
      situation(pending, prepared(hides(true))),
      "Hold second_provider_missing"
    ],
    [
      "fails if the only provider has hidden it for as long as makes its view enough",
      situation(hiddenSince(signsAloneAfter), prepared(hides(true))),
      "Finish failed balance_change"
    ],
    [
      "waits if one of two providers hides what it changes, and the other one does not answer",
      situation(hiddenSince(hour - 1), prepared(hides(false)), { terms: { finalityByOne: hour } }),
      "Hold second_provider_missing"
    ],
    [
      "fails if no other provider has answered for the time after which one decides",
      situation(hiddenSince(hour), prepared(hides(false)), { terms: { finalityByOne: hour } }),
      "Finish failed balance_change"
    ],
    [
      "waits if one of two providers hides what it changes, and one never decides alone",
      situation(hiddenSince(hour), prepared(hides(false)), { terms: { finalityByOne: "never" } }),
      "Hold second_provider_missing"
    ],
    ["waits for a restore", situation(pending, archived), "Hold needs_restore"],
    ["waits for a restore that it pays for", situation(paysRestore, archived), "Hold needs_restore"],
    [
      "waits if the restore and the call cost more than it may",
      // Twice 150 stroops for a place in a ledger, 9 and 1,000 stroops for resources with a margin.
      situation(paysRestore, archived, { terms: { cap: 1460n } }),
      "Hold fee_above_cap"
    ],
    [
      "of the service ends if it is of no use any more",
      situation(pending, prepared({ isObsolete: true })),
      "Finish canceled canceled"
    ],
    [
      "fails if its authorization expires",
      situation(pending, call({ untilLedger: newest.number + 2 })),
      "Finish failed auth_expired"
    ],
    [
      "pays resources with a margin",
      situation(pending, call({ untilLedger: newest.number + 3 })),
      "Sign original 1300"
    ],
    [
      "offers what it may cost if others offer more",
      situation(pending, prepared(), { terms: { cap: 149n } }),
      "Sign original 149"
    ],
    [
      "offers what the API key has left if others offer more",
      situation(pending, prepared(), { terms: { feeLimit: 149n } }),
      "Sign original 149"
    ],
    [
      "offers what the account has left if others offer more",
      // Of 1,000,000,000 stroops, reserves lock 10,000,000, as many must stay, and the payment takes 10.
      situation(pending, prepared(fabulous), { terms: { cap: 2n ** 60n } }),
      "Sign original 979999990"
    ],
    [
      "offers what the field of a fee can hold if others offer more",
      situation(pending, prepared(fabulous, [rich, rich]), { terms: { cap: 2n ** 60n } }),
      "Sign original 4294967295"
    ],
    [
      "offers what it may cost through a channel, where one operation more counts, if others offer more",
      situation(pending, prepared(fabulous), {
        terms: { cap: 1001n, usesChannels: true },
        lane: lane(false, [ready()])
      }),
      "Sign original 1000"
    ],
    [
      "waits if the least fee is above the cap",
      situation(pending, prepared(), { terms: { cap: 99n } }),
      "Hold fee_above_cap"
    ],
    [
      "waits if the least fee of its network is above the cap",
      situation(pending, prepared({ baseFee: 1000n }), { terms: { cap: 999n } }),
      "Hold fee_above_cap"
    ],
    [
      "waits if the least fee is above what the API key has left",
      situation(pending, prepared(), { terms: { feeLimit: 99n } }),
      "Hold fee_above_cap"
    ],
    [
      "offers at least the least fee of its network",
      situation(pending, prepared({ baseFee: 1000n })),
      "Sign original 1000"
    ],
    [
      "waits for funds if its network locks more for each account",
      situation(pending, seen([poor, poor], { preparation: pays10, settings: standalone })),
      "Hold insufficient_funds"
    ],
    [
      "is signed with the same balance on the public network",
      situation(pending, seen([poor, poor], { preparation: pays10 })),
      "Sign original 150"
    ],
    ["waits for funds", situation(pending, prepared({ out: 1_000_000_000n })), "Hold insufficient_funds"],
    [
      "waits for funds that others reserve",
      situation(pending, prepared(), { rest: { reserved: 990_000_000n } }),
      "Hold insufficient_funds"
    ],
    [
      "waits for funds that one of two providers does not show",
      situation(pending, prepared({}, [look(n - 1n), look(n - 1n, { payer: { ...entry, balance: 10_000_000n } })])),
      "Hold insufficient_funds"
    ],
    [
      "waits for funds if its entries lock the balance",
      situation(pending, prepared({}, [look(n - 1n, { payer: { ...entry, subentries: 198 } }), look(n - 1n)])),
      "Hold insufficient_funds"
    ],
    [
      "fails without funds ten minutes after the lane fell quiet",
      situation(
        { ...pending, cause: cause("insufficient_funds"), causeSince: now - 600_000, validUntil: now + 900_000 },
        prepared({ out: 1_000_000_000n }),
        { rest: { quietSince: now - 700_000 } }
      ),
      "Finish failed insufficient_funds"
    ]
  ])

  const offered = (closeTime: number, validUntil = now + 500_000) => {
    const view = prepared({}, [look(n - 1n, {}, closed(closeTime)), look(n - 1n, {}, closed(clock + 500_000))])
    const [command] = decide(situation({ ...pending, validUntil }, view))
    return command._tag === "Sign" ? command.offer.maxTime - clock : undefined
  }

  it("lives for a minute after the lowest close time, whatever another provider says", () => {
    assert.deepStrictEqual([offered(clock - 2), offered(clock + 59)], [58, 119])
  })

  it("begins no restore for an API key with limits, because its fee counts for no key", () => {
    const feeOfRestore = (terms: object) => {
      const [command] = decide(situation(paysRestore, archived, { terms }))
      return command._tag === "Hold" ? [command.cause.code, command.cause.figures.fee] : command._tag
    }
    assert.deepStrictEqual(feeOfRestore({}), ["needs_restore", 161n])
    assert.deepStrictEqual(feeOfRestore({ feeLimit: 1_000_000n }), ["needs_restore", undefined])
  })

  it("is too late for the ledger after the last one of its authorization", () => {
    const [command] = decide(situation(pending, call({ untilLedger: newest.number + 3 })))
    assert.strictEqual(command._tag === "Sign" && command.offer.maxLedger, newest.number + 4)
  })

  it("lives no longer than its deadline", () => {
    assert.strictEqual(offered(clock - 2, now + 20_000), 20)
  })

  it("remembers the lowest ledger that the asked providers show", () => {
    const behind = look(n - 1n, {}, { number: 497, closeTime: clock - 17 })
    const [command] = decide(situation(pending, prepared({}, [look(n - 1n), behind])))
    assert.strictEqual(command._tag === "Sign" && command.offer.seenLedger, 497)
  })
})
