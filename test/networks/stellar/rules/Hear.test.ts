// What the answers of nodes to a broadcast are, taken together.
import { assert, describe, it } from "@effect/vitest"
import { hear } from "../../../../src/networks/stellar/rules/StellarRules.ts"
import type { NodeAnswer } from "../../../../src/networks/stellar/rules/StellarSeen.ts"
import { attempt, now } from "./Situations.ts"

const error = (result: string, fee = 0n): NodeAnswer => ({ status: "ERROR", result, fee })
const later: NodeAnswer = { status: "TRY_AGAIN_LATER" }
const unknown: NodeAnswer = { status: "UNKNOWN" }

const heard = (answers: ReadonlyArray<NodeAnswer>, former = attempt) =>
  hear(former, answers, { at: now, height: 500 }).attempt

describe("the answers of nodes", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<NodeAnswer>, string, string | undefined]> = [
    ["PENDING", [{ status: "PENDING" }], "accepted", undefined],
    ["DUPLICATE", [{ status: "DUPLICATE" }], "accepted", undefined],
    ["PENDING beside a refusal", [error("txBadAuth"), { status: "PENDING" }], "accepted", undefined],
    ["TRY_AGAIN_LATER", [later], "unknown", "not_now"],
    ["txBAD_SEQ", [error("txBadSeq")], "unknown", "look"],
    ["txBAD_MIN_SEQ_AGE_OR_GAP", [error("txBadMinSeqAgeOrGap")], "unknown", "look"],
    ["txTOO_LATE", [error("txTooLate")], "unknown", "too_late"],
    ["txTOO_EARLY", [error("txTooEarly")], "unknown", "not_now"],
    ["txINSUFFICIENT_FEE", [error("txInsufficientFee", 900n)], "unknown", "fee"],
    ["txINSUFFICIENT_BALANCE", [error("txInsufficientBalance")], "unknown", "funds"],
    ["txSOROBAN_INVALID", [error("txSorobanInvalid")], "unknown", "resources"],
    ["a refusal for good of all", [error("txBadAuth"), error("txMalformed")], "refused", "permanent"],
    ["a refusal for good of one, and silence", [error("txBadAuth"), unknown], "unknown", undefined],
    ["a refusal for good of one, and a hopeful one", [error("txBadAuth"), later], "unknown", "not_now"],
    ["txINTERNAL_ERROR", [error("txInternalError")], "unknown", "not_now"],
    ["a result of a later protocol", [error("txUnknown(-42)")], "unknown", "not_now"],
    ["FILTERED", [{ status: "FILTERED" }], "unknown", "not_now"],
    [
      "a refusal for good of one, and txINTERNAL_ERROR",
      [error("txBadAuth"), error("txInternalError")],
      "unknown",
      "not_now"
    ],
    ["a fee of one, and FILTERED", [error("txInsufficientFee", 900n), { status: "FILTERED" }], "unknown", "fee"],
    ["an answer that is no XDR", [{ status: "INVALID" }], "refused", "permanent"],
    ["silence", [unknown], "unknown", undefined],
    ["nobody", [], "unknown", undefined]
  ]
  for (const [name, answers, outcome, kind] of cases) {
    it(`${name} is ${outcome}${kind === undefined ? "" : `, ${kind}`}`, () => {
      const { outcome: found, refusal, sends } = heard(answers)
      assert.deepStrictEqual([found, refusal?.class, sends], [outcome, kind, attempt.sends + 1])
    })
  }

  it("count how often in a row nodes say later", () => {
    const again = heard([later], heard([later]))
    assert.strictEqual(again.refusal?.times, 2)
    assert.strictEqual(heard([later], heard([error("txBadSeq")])).refusal?.times, 1)
  })

  it("are kept by their names", () => {
    const resultOf = (answer: NodeAnswer) => heard([answer]).refusal?.result
    const names = [
      "txBadSeq",
      "txTooLate",
      "txTooEarly",
      "txInsufficientFee",
      "txInsufficientBalance",
      "txSorobanInvalid"
    ]
    const others = ["txInternalError", "txUnknown(-42)", "txFrozenKeyAccessed"]
    for (const name of [...names, ...others]) assert.strictEqual(resultOf(error(name)), name)
    assert.deepStrictEqual([resultOf({ status: "FILTERED" }), resultOf(later)], ["filtered", undefined])
  })

  it("ask for the highest of the fees that nodes need", () => {
    const answers = [error("txInsufficientFee", 900n), error("txInsufficientFee", 5000n)]
    assert.strictEqual(heard(answers).refusal?.needed, 5000n)
  })
})
