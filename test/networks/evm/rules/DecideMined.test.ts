// Each decision about a receipt that was recorded, and about a transaction that is final.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import type { Seen } from "../../../../src/networks/evm/rules/Evm.ts"
import { decisions, later, noop, summary } from "./DecisionTable.ts"
import type { Case } from "./DecisionTable.ts"
import { agreed, attempt, commandsOf, hour, lane, mined, now, pending, seen } from "./Fixtures.ts"

const final: ReadonlyArray<Case> = [
  ["mined, not deep", "Hold transaction mined_waiting", mined(), undefined, seen({ minedAt: agreed() })],
  ["mined, deep", "Finish confirmed confirmed", mined(), undefined, later(2, { minedAt: agreed() })],
  [
    "mined, deep, after its deadline was seen",
    "Finish confirmed executed_late",
    mined({ intent: "expire" }),
    undefined,
    later(2, { minedAt: agreed() })
  ],
  [
    "mined, deep, although canceled",
    "Finish confirmed confirmed",
    mined({ intent: "cancel" }),
    undefined,
    later(2, { minedAt: agreed() })
  ],
  [
    "mined, deep, without a second provider",
    "Finish confirmed confirmed",
    mined(),
    undefined,
    later(2, { minedAt: { first: "block-100", second: "not_configured" } })
  ],
  [
    "mined, deep, a no-op of a cancel",
    "Finish canceled canceled",
    mined({ intent: "cancel", attempts: [attempt(1), noop(2)] }, 2),
    undefined,
    later(2, { minedAt: agreed() })
  ],
  [
    "mined, deep, a no-op of a deadline",
    "Finish expired deadline_passed",
    mined({ intent: "expire", attempts: [attempt(1), noop(2)] }, 2),
    undefined,
    later(2, { minedAt: agreed() })
  ],
  [
    "mined, deep, a no-op of a clear",
    "Finish failed refused_by_all",
    mined({ intent: "clear", clearCode: "refused_by_all", attempts: [attempt(1), noop(2)] }, 2),
    undefined,
    later(2, { minedAt: agreed() })
  ],
  [
    "mined, deep, and a second provider has another status",
    "Hold transaction providers_disagree",
    mined(),
    undefined,
    later(2, { minedAt: agreed("block-100", false) })
  ],
  [
    "mined, deep, and a second provider has another block",
    "Hold transaction providers_disagree",
    mined(),
    undefined,
    later(2, { count: 6, minedAt: { ...agreed("other"), first: "block-100" } })
  ],
  [
    "mined, and the provider is behind its block",
    "Hold transaction mined_waiting",
    mined(),
    undefined,
    seen({ head: { number: 99, hash: "block-99" }, finalHeight: 97, minedAt: { first: "other" } })
  ],
  [
    "mined, deep, and a second provider does not answer",
    "Hold transaction mined_waiting",
    mined(),
    undefined,
    later(2, { count: 6, minedAt: { first: "block-100" } })
  ],
  [
    "mined, deep, but not for a second provider",
    "Hold transaction mined_waiting",
    mined(),
    undefined,
    later(2, {
      count: 6,
      minedAt: {
        first: "block-100",
        second: { hash: "block-100", finalHeight: 99, receipt: { blockHash: "block-100", isSuccess: true } }
      }
    })
  ],
  [
    "mined, deep, and a second provider has another block and no receipt",
    "Hold transaction providers_disagree",
    mined(),
    undefined,
    later(2, { count: 6, minedAt: { first: "block-100", second: { hash: "other", finalHeight: 200, receipt: null } } })
  ],
  [
    "mined, deep, and a second provider has no receipt",
    "Hold transaction mined_waiting",
    mined(),
    undefined,
    later(2, {
      count: 6,
      minedAt: { first: "block-100", second: { hash: "block-100", finalHeight: 200, receipt: null } }
    })
  ],
  [
    "mined, deep, without a receipt elsewhere, and its nonce is not used",
    "Unmine reorged",
    mined(),
    undefined,
    later(2, {
      count: 5,
      minedAt: { first: "block-100", second: { hash: "block-100", finalHeight: 200, receipt: null } }
    })
  ],
  ["mined, and its block is gone", "Unmine reorged", mined(), undefined, later(2, { minedAt: { first: "other" } })],
  ["mined, deep, and its block unknown", "Hold transaction mined_waiting", mined(), undefined, later(2)],
  [
    "reverted, not deep",
    "Hold transaction reverted_unconfirmed",
    mined({ state: "submitted" }, 1, { isSuccess: false }),
    undefined,
    seen({ minedAt: agreed() })
  ],
  [
    "reverted, deep",
    "Finish failed reverted",
    mined({ state: "submitted" }, 1, { isSuccess: false }),
    undefined,
    later(2, { minedAt: agreed("block-100", false) })
  ],
  [
    "reverted with all its gas, deep",
    "Finish failed out_of_gas",
    mined({ state: "submitted" }, 1, { isSuccess: false, gasUsed: 21_000n }),
    undefined,
    later(2, { minedAt: agreed("block-100", false) })
  ],
  [
    "stopped with all its gas for another reason, deep",
    "Finish failed reverted",
    mined({ state: "submitted" }, 1, { isSuccess: false, gasUsed: 21_000n, isOutOfGas: false }),
    undefined,
    later(2, { minedAt: agreed("block-100", false) })
  ],
  [
    "reverted, deep, although canceled",
    "Finish failed reverted",
    mined({ state: "submitted", intent: "cancel" }, 1, { isSuccess: false }),
    undefined,
    later(2, { minedAt: agreed("block-100", false) })
  ],
  ["confirmed", "Rest none", mined({ state: "confirmed" }), undefined, seen({ count: 6 })],
  [
    "confirmed, and its nonce is open again",
    "Broadcast none",
    mined({ state: "confirmed" }),
    undefined,
    seen({ count: 5 })
  ],
  ["canceled without a nonce", "Rest none", pending({ state: "canceled" })]
]

describe("a transaction that is", () => {
  decisions(final)
})

describe("a receipt about which no other provider has an opinion for long", () => {
  it("is final when its block is twice as deep as required", () => {
    const since = now - 24 * hour
    const missing = mined({ cause: cause("second_provider_missing", { block: 100 }), causeSince: since })
    const minedAt: NonNullable<Seen["minedAt"]> = {
      first: "block-100",
      others: [{ _tag: "Silent", host: "second", since, error: "no answer" }]
    }
    const at = (blocks: number) => commandsOf(missing, lane(), later(blocks, { count: 6, minedAt }))
    assert.strictEqual(summary(at(3)), "Hold transaction second_provider_missing")
    assert.strictEqual(summary(at(4)), "Finish confirmed confirmed")
    assert.deepInclude(at(4)[0], { confirmedBy: 1 })
  })
})
