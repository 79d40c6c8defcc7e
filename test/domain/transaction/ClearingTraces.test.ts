// Traces of the model check about a nonce that a no-op uses: after a change of policy, a deadline, or a refusal by every node.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../src/domain/transaction/Cause.ts"
import { later, noop, summary } from "./DecisionTable.ts"
import { agreed, attempt, commandsOf, lane, mined, now, receiptIn, seen, submitted, tagsOf, terms } from "./Fixtures.ts"
import { effectsOf, mine } from "./simulation/Blocks.ts"
import { assign, poll } from "./simulation/Driver.ts"
import { faultless } from "./simulation/Faults.ts"
import { begin, take } from "./simulation/Steps.ts"
import { watch } from "./simulation/Invariants.ts"
import { replacement, rounds, sent } from "./simulation/Scenes.ts"
import { transactionOf } from "./simulation/World.ts"

describe("A6", () => {
  it("a policy that forbids a transaction with bytes clears its nonce, and what is mined decides", () => {
    const world = sent()
    take(world, { do: "Policy", isAllowed: false }, watch)
    take(world, replacement, watch)
    poll(world, faultless, 1, watch)
    assert.strictEqual(transactionOf(world, 1).intent, "clear")
    mine(world, 0)
    rounds(world, 4)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    const cleared = sent()
    take(cleared, { do: "Policy", isAllowed: false }, watch)
    take(cleared, replacement, watch)
    rounds(cleared, 5)
    assert.deepStrictEqual(transactionOf(cleared, 1).cause?.code, "policy_changed")
    assert.strictEqual(effectsOf(cleared, 1), 0)
  })

  it("no transaction with a nonce is ended by policy, pause, funds or another chain", () => {
    for (const situation of [
      lane({ terms: terms({ isAllowed: false }) }),
      lane({ terms: terms({ isPaused: true }) }),
      lane({ stop: cause("chain_changed") })
    ]) {
      assert.notInclude(tagsOf(commandsOf(submitted(), situation, seen({ balance: 0n }))), "Finish")
    }
  })
})

describe("B3", () => {
  it("after the deadline a no-op that a node swallowed is sent again and raised", () => {
    const world = sent()
    world.now += 9 * 3_600_000
    world.pool = new Map()
    poll(world, { ...faultless, honestNode: "swallowed", lyingNode: "swallowed" }, 1, watch)
    assert.strictEqual(transactionOf(world, 1).attempts.at(-1)?.kind, "noop")
    assert.strictEqual(world.pool.size, 0)
    rounds(world, 8)
    assert.strictEqual(transactionOf(world, 1).state, "expired")
    assert.strictEqual(effectsOf(world, 1), 0)
  })

  it("a cancel stays a cancel when the deadline passes", () => {
    const late = submitted({ intent: "cancel", validUntil: now, attempts: [attempt(1), noop(2)] })
    assert.notInclude(tagsOf(commandsOf(late)), "Intend")
  })
})

describe("B6", () => {
  it("a transaction that every node refuses for good is cleared by a no-op", () => {
    const world = begin()
    const refusing = {
      ...faultless,
      honestNode: "refused",
      lyingNode: "refused",
      lie: "intrinsic gas too low"
    } as const
    assign(world, refusing, watch)
    assert.strictEqual(transactionOf(world, 1).intent, "clear")
    rounds(world, 5)
    const { state, cause } = transactionOf(world, 1)
    assert.deepStrictEqual([state, cause?.code], ["failed", "refused_by_all"])
    assert.strictEqual(effectsOf(world, 1), 0)
  })
})

describe("C4", () => {
  it("a no-op counts as mined whatever its status", () => {
    const canceled = submitted({ intent: "cancel", attempts: [attempt(1), noop(2)] })
    const receipt = receiptIn(100, { isSuccess: false })
    const view = seen({ count: 6, sights: new Map([[2, { _tag: "Receipt", receipt }]]) })
    assert.strictEqual(summary(commandsOf(canceled, lane(), view)), "Mine mined mined_waiting")
    const done = mined({ intent: "cancel", attempts: [attempt(1), noop(2)] }, 2, { isSuccess: false })
    assert.strictEqual(summary(commandsOf(done, lane(), later(2, { minedAt: agreed() }))), "Finish canceled canceled")
  })
})
