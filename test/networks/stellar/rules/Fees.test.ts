// Fees of stellar envelopes, and what answers of nodes mean.
import { assert, describe, it } from "@effect/vitest"
import {
  declaredResourceFee,
  firstRate,
  innerFee,
  isResourceFeeTooHigh,
  nextRate,
  outerFee
} from "../../../../src/networks/stellar/rules/StellarNumbers.ts"
import { againAfterUnknown, answerClassOf, isSendable } from "../../../../src/networks/stellar/rules/StellarSeen.ts"

describe("a fee on stellar", () => {
  it("bids the 95th percentile first, twice the 99th or the needed rate afterwards, and ten base fees without figures", () => {
    assert.deepStrictEqual(
      [firstRate({ p95: 50n, p99: 60n }), firstRate({ p95: 250n, p99: 400n }), firstRate(undefined)],
      [100n, 250n, 1000n]
    )
    assert.deepStrictEqual(
      [nextRate({ p95: 250n, p99: 400n }), nextRate({ p95: 250n, p99: 400n }, 5000n), nextRate(undefined, 20n)],
      [800n, 5000n, 1000n]
    )
  })

  it("fits into 32 bits, except for a fee bump", () => {
    assert.strictEqual(innerFee({ operations: 3, rate: 100n, resourceFee: 50n }), 350n)
    assert.strictEqual(innerFee({ operations: 1, rate: 2n ** 32n - 1n }), 2n ** 32n - 1n)
    assert.isUndefined(innerFee({ operations: 1, rate: 2n ** 32n }))
    assert.strictEqual(outerFee({ fee: 100n, operations: 1 }, 2n ** 40n), 2n ** 41n)
  })

  it.each([
    ["the rate", { fee: 100n, operations: 1 }, 200n, 400n],
    ["the inner rate, rounded up", { fee: 1001n, operations: 2 }, 100n, 1503n],
    ["the base fee for an inner envelope without a fee", { fee: 0n, operations: 1 }, 0n, 200n],
    ["the resources once", { fee: 1_000_100n, operations: 1, resourceFee: 1_000_000n }, 200n, 1_000_400n]
  ])("of a fee bump pays %s", (_, inner, rate, expected) => {
    assert.strictEqual(outerFee(inner, rate), expected)
  })

  it("of resources has a margin, and a declared one is too high above another", () => {
    assert.deepStrictEqual([declaredResourceFee(100n), declaredResourceFee(1n)], [115n, 2n])
    const half = { numerator: 3n, denominator: 2n }
    assert.deepStrictEqual(
      [isResourceFeeTooHigh(150n, 100n, half), isResourceFeeTooHigh(151n, 100n, half)],
      [false, true]
    )
  })
})

describe("the answer of a node", () => {
  const error = (result: string, inner?: string) =>
    answerClassOf({ status: "ERROR", result, fee: 700n, ...(inner === undefined ? {} : { inner }) })

  it.each([
    [answerClassOf({ status: "PENDING" }), "accepted"],
    [answerClassOf({ status: "DUPLICATE" }), "accepted"],
    [answerClassOf({ status: "TRY_AGAIN_LATER" }), "not_now"],
    [error("txBadSeq"), "look"],
    [error("txBadMinSeqAgeOrGap"), "look"],
    [error("txTooLate"), "too_late"],
    [error("txTooEarly"), "not_now"],
    [error("txInsufficientBalance"), "funds"],
    [error("txSorobanInvalid"), "resources"],
    [error("txInternalError"), "other"],
    [error("txUnknown(-42)"), "other"],
    [answerClassOf({ status: "FILTERED" }), "other"],
    [error("txFeeBumpInnerFailed", "txBadSeq"), "look"],
    [error("txFeeBumpInnerFailed", "txNoAccount"), "permanent"],
    [error("txFeeBumpInnerFailed"), "other"],
    [answerClassOf({ status: "INVALID" }), "permanent"],
    [answerClassOf({ status: "UNKNOWN" }), "provider"]
  ])("%o is of the class %s", ({ kind }, expected) => {
    assert.strictEqual(kind, expected)
  })

  it.each([
    "txNoAccount",
    "txBadAuth",
    "txBadAuthExtra",
    "txMalformed",
    "txMissingOperation",
    "txNotSupported",
    "txBadSponsorship",
    "txFrozenKeyAccessed"
  ])("%s is permanent for that node", (result) => {
    assert.deepStrictEqual(error(result), { kind: "permanent", result })
  })

  it("names the fee that would be enough", () => {
    assert.deepStrictEqual(error("txInsufficientFee"), { kind: "fee", needed: 700n, result: "txInsufficientFee" })
  })

  it("is not asked for in the last ten seconds, and again after a wait that doubles up to five seconds", () => {
    const clock = { closeTime: 100, quiet: 0, slack: 10 }
    assert.deepStrictEqual([isSendable(111n, clock), isSendable(110n, clock)], [true, false])
    assert.deepStrictEqual(
      [1, 2, 3, 4, 9].map((sends) => againAfterUnknown(0, sends)),
      [1000, 2000, 4000, 5000, 5000]
    )
  })
})
