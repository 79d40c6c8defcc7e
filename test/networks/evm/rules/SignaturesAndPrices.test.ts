// Rules about which bytes are signed and sent, and at which price.
import { Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { canReplace } from "../../../../src/networks/core/Rules.ts"
import type { Seen } from "../../../../src/networks/evm/rules/Evm.ts"
import { cancel, feeViolation } from "../../../../src/networks/evm/rules/EvmRules.ts"
import { maxFeeOf } from "../../../../src/networks/evm/rules/Market.ts"
import { noop, unsent } from "./DecisionTable.ts"
import {
  attempt,
  commandsOf,
  gwei,
  lane,
  mined,
  now,
  only,
  pending,
  request,
  seen,
  submitted,
  tagsOf,
  terms
} from "./Fixtures.ts"

describe("B2: attempts of another generation or nonce", () => {
  it("do not count as current ones", () => {
    const moved = submitted({ attempts: [attempt(1, { nonce: 3 }), attempt(2, { generation: 7 }), attempt(3)] })
    const absent = seen({ sights: new Map([[3, { _tag: "Absent", polls: 2 }]]) })
    assert.deepStrictEqual(only(commandsOf(moved, lane(), absent), "Broadcast").ordinals, [3])
  })
})

describe("given fees", () => {
  it("of a newer version stay if they replace the former ones", () => {
    const fees = { max_fee_per_gas: 12_100_000_001n, max_priority_fee_per_gas: 1_100_000_001n }
    const replaced = (over: object) => submitted({ versions: [request(), request({ ...fees, ...over })] })
    const signed = only(commandsOf(replaced({})), "Sign").offer.fees
    assert.deepStrictEqual(signed, { type: "eip1559", maxFee: 12_100_000_001n, tip: 1_100_000_001n })
    const low = only(commandsOf(replaced({ max_priority_fee_per_gas: 1_100_000_000n })), "Sign").offer.fees
    assert.deepStrictEqual(low, { type: "eip1559", maxFee: 12_375_000_000n, tip: 1_125_000_000n })
  })
})

describe("bytes that were sent before", () => {
  const absent: Pick<Seen, "sights"> = { sights: new Map([[1, { _tag: "Absent", polls: 2 }]]) }
  const capped = lane({ terms: terms({ cap: 11n * gwei }) })

  it("bytes that were evicted are sent again although no no-op can be paid or signed", () => {
    const canceled = submitted({ intent: "cancel" })
    const poor = commandsOf(canceled, lane(), seen({ ...absent, balance: 1n }))
    assert.deepStrictEqual(tagsOf(poor), ["Broadcast", "Hold", "PollAt"])
    assert.strictEqual(only(poor, "Hold").cause.code, "insufficient_funds")
    const unsigned = commandsOf(
      canceled,
      lane({ signerRetry: { code: "signer_unavailable", at: now + 9 } }),
      seen(absent)
    )
    assert.strictEqual(only(unsigned, "Hold").cause.code, "signer_unavailable")
    assert.include(tagsOf(unsigned), "Broadcast")
  })

  it("bytes of a canceled request that never left are not sent for the first time", () => {
    const canceled = submitted({ state: "signed", intent: "cancel", attempts: [unsent(attempt(1))] })
    assert.notInclude(
      tagsOf(commandsOf(canceled, lane({ signerRetry: { code: "signer_unavailable", at: now + 9 } }))),
      "Broadcast"
    )
  })

  it("older attempts that do the same are tried after the newest, and none that does something else", () => {
    const attempts = [attempt(1), attempt(2, { kind: "replace", requestVersion: 2 }), attempt(3, { requestVersion: 2 })]
    const replaced = submitted({ versions: [request(), request()], attempts })
    const view = seen({ sights: new Map([[3, { _tag: "Absent", polls: 2 }]]) })
    assert.deepStrictEqual(only(commandsOf(replaced, lane(), view), "Broadcast").ordinals, [3, 2])
    const canceled = submitted({ intent: "cancel", attempts: [attempt(1), noop(2), noop(3)] })
    assert.deepStrictEqual(only(commandsOf(canceled, lane(), view), "Broadcast").ordinals, [3, 2])
  })

  it("fees rise above the highest of all attempts, not only above the newest", () => {
    const attempts = [attempt(1), attempt(2, { fees: { type: "eip1559", maxFee: 5n * gwei, tip: 5n * gwei } })]
    const { offer } = only(commandsOf(submitted({ intent: "cancel", attempts })), "Sign")
    assert.deepStrictEqual(offer.fees, { type: "eip1559", maxFee: 12_375_000_000n, tip: 5_625_000_000n })
  })

  it("a request of 21,000 gas at the cap can be cleared", () => {
    const atCap = submitted({ intent: "cancel" })
    const { offer } = only(commandsOf(atCap, capped), "Sign")
    assert.strictEqual(maxFeeOf(offer.fees), 12_375_000_000n)
  })

  it("without a cap a no-op follows the market, and with one it costs ten times the cap at most", () => {
    const wild = { market: { baseFee: 10_000n * gwei, tips: { safeLow: 1n, average: 2n, fast: 3n, fastest: 4n } } }
    const big = submitted({ intent: "cancel", attempts: [attempt(1, { gasLimit: 2_000_000n })] })
    assert.strictEqual(maxFeeOf(only(commandsOf(big, lane(), seen(wild)), "Sign").offer.fees), 20_000n * gwei + 3n)
    assert.strictEqual(maxFeeOf(only(commandsOf(big, capped, seen(wild)), "Sign").offer.fees), 110n * gwei)
    const small = submitted({ intent: "cancel", attempts: [attempt(1, { gasLimit: 42_000n })] })
    assert.strictEqual(maxFeeOf(only(commandsOf(small, capped, seen(wild)), "Sign").offer.fees), 22n * gwei)
  })
})

describe("a price that nodes refuse", () => {
  const underpriced = submitted({ attempts: [attempt(1, { outcome: "refused", refusal: { class: "bump" } })] })
  const priced = (over: Parameters<typeof terms>[0]) => commandsOf(underpriced, lane({ terms: terms(over) }))

  it("is not raised above the cap", () => {
    assert.include(tagsOf(priced({ cap: 13n * gwei })), "Sign")
    const held = priced({ cap: 12n * gwei })
    assert.notInclude(tagsOf(held), "Sign")
    assert.deepInclude(only(held, "Hold").cause, { code: "at_cap" })
    assert.strictEqual(only(held, "Hold").cause.figures.limit, "cap")
  })

  it("is not raised above what the limits of its API key leave", () => {
    assert.include(tagsOf(priced({ feeLimit: 21_000n * 13n * gwei })), "Sign")
    const held = priced({ feeLimit: 21_000n * 12n * gwei })
    assert.notInclude(tagsOf(held), "Sign")
    assert.deepInclude(only(held, "Hold").cause, { code: "at_cap" })
    assert.strictEqual(only(held, "Hold").cause.figures.limit, "api_key")
  })
})

describe("C5: a cancel or a replacement", () => {
  it("only the cancel of a transaction without a nonce promises that there is no effect", () => {
    assert.strictEqual(Result.getOrThrow(cancel(pending()))._tag, "finish")
    assert.strictEqual(Result.getOrThrow(cancel(submitted({ state: "signed" })))._tag, "intend")
    assert.strictEqual(Result.getOrThrow(cancel(submitted()))._tag, "intend")
    assert.strictEqual(Result.getOrThrow(cancel(submitted({ intent: "expire" })))._tag, "unchanged")
    assert.strictEqual(Result.getOrThrow(cancel(pending({ restored: true })))._tag, "intend")
    for (const one of [mined(), mined({ state: "confirmed" }), pending({ state: "canceled" })]) {
      assert.isTrue(Result.isFailure(cancel(one)))
    }
  })

  it("a transaction can be replaced while it is open, wanted and without a receipt", () => {
    for (const one of [pending(), submitted(), submitted({ state: "signed" })]) {
      assert.isTrue(Result.isSuccess(canReplace(one)))
    }
    const reverted = mined({ state: "submitted" }, 1, { isSuccess: false })
    for (const one of [mined(), reverted, submitted({ intent: "cancel" }), pending({ state: "failed" })]) {
      assert.isTrue(Result.isFailure(canReplace(one)))
    }
  })

  it("given fees that do not replace what was sent are refused with the minimum", () => {
    const fees = (max_fee_per_gas: bigint, max_priority_fee_per_gas: bigint) =>
      feeViolation(submitted(), request({ max_fee_per_gas, max_priority_fee_per_gas }))
    assert.isUndefined(fees(12_100_000_001n, 1_100_000_001n))
    assert.include(fees(12_100_000_000n, 1_100_000_001n)?.message ?? "", "12100000001")
    assert.strictEqual(feeViolation(submitted(), request({ gas_price: 1n }))?.field, "gas_price")
    assert.isUndefined(feeViolation(pending(), request({ gas_price: 1n })))
    assert.isUndefined(feeViolation(submitted(), request()))
    const withoutTip = request({ max_fee_per_gas: 5n, max_priority_fee_per_gas: 0n })
    assert.strictEqual(
      feeViolation(pending({ route: { kind: "private" } }), withoutTip)?.field,
      "max_priority_fee_per_gas"
    )
    assert.isUndefined(feeViolation(pending(), withoutTip))
  })
})
