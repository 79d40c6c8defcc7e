// Rules about a nonce that a no-op uses: after a change of policy, a deadline, or a refusal by every node.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import { later, noop, summary } from "./DecisionTable.ts"
import { agreed, attempt, commandsOf, lane, mined, now, receiptIn, seen, submitted, tagsOf, terms } from "./Fixtures.ts"

describe("a transaction with a nonce", () => {
  it("is not ended by policy, pause, funds or another chain", () => {
    for (const situation of [
      lane({ terms: terms({ isAllowed: false }) }),
      lane({ terms: terms({ isPaused: true }) }),
      lane({ stop: cause("chain_changed") })
    ]) {
      assert.notInclude(tagsOf(commandsOf(submitted(), situation, seen({ balance: 0n }))), "Finish")
    }
  })
})

describe("a cancel", () => {
  it("stays a cancel when the deadline passes", () => {
    const late = submitted({ intent: "cancel", validUntil: now, attempts: [attempt(1), noop(2)] })
    assert.notInclude(tagsOf(commandsOf(late)), "Intend")
  })
})

describe("a no-op", () => {
  it("counts as mined whatever its status", () => {
    const canceled = submitted({ intent: "cancel", attempts: [attempt(1), noop(2)] })
    const receipt = receiptIn(100, { isSuccess: false })
    const view = seen({ count: 6, sights: new Map([[2, { _tag: "Receipt", receipt }]]) })
    assert.strictEqual(summary(commandsOf(canceled, lane(), view)), "Mine mined mined_waiting")
    const done = mined({ intent: "cancel", attempts: [attempt(1), noop(2)] }, 2, { isSuccess: false })
    assert.strictEqual(
      summary(commandsOf(done, lane(), later(2, { minedAt: agreed("block-100", false) }))),
      "Finish canceled canceled"
    )
  })
})
