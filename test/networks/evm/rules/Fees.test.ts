// Fees of one attempt against those of the next: what every node's pool accepts as a replacement.
import { Arbitrary, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import {
  atMost,
  highest,
  isReplacement,
  maxFeeOf,
  minimumReplacement,
  raisedFees,
  tipOf
} from "../../../../src/networks/evm/rules/Market.ts"
import type { Fees } from "../../../../src/networks/evm/rules/Market.ts"

const wei = Arbitrary.schema(Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 2n ** 100n })))

const anyFees = Arbitrary.all([Arbitrary.schema(Schema.Boolean), wei, wei] as const).pipe(
  Arbitrary.map(([isLegacy, one, other]): Fees => {
    if (isLegacy) return { type: "legacy", gasPrice: one }
    return one < other ? { type: "eip1559", maxFee: other, tip: one } : { type: "eip1559", maxFee: one, tip: other }
  })
)

/** geth's rule: both fees strictly higher, and by at least 10 %. reth refuses exactly 10 %. */
const isTakenByPools = (fees: Fees, former: Fees): boolean =>
  (
    [
      [maxFeeOf(fees), maxFeeOf(former)],
      [tipOf(fees), tipOf(former)]
    ] as const
  ).every(([now, before]) => now > before && now * 10n > before * 11n)

describe("fees", () => {
  it.prop("that are raised replace the former ones in every pool", [anyFees], ([former]) => {
    const fees = raisedFees(former)
    assert.strictEqual(fees.type, former.type)
    assert.isTrue(isTakenByPools(fees, former))
    assert.isAtMost(Number(tipOf(fees) - maxFeeOf(fees)), 0)
  })

  it.prop(
    "are a replacement exactly if they reach the minimum that is reported",
    [anyFees, anyFees],
    ([fees, former]) => {
      const minimum = minimumReplacement(former)
      assert.isTrue(isTakenByPools(minimum, former))
      assert.isTrue(isReplacement(minimum, former))
      assert.isTrue(isReplacement(raisedFees(former), former))
      assert.strictEqual(isReplacement(fees, former), isTakenByPools(fees, former))
    }
  )

  it.prop("keep their tip below their price when they are capped", [anyFees, wei], ([fees, ceiling]) => {
    const capped = atMost(fees, ceiling)
    assert.isTrue(maxFeeOf(capped) <= ceiling)
    assert.isTrue(tipOf(capped) <= maxFeeOf(capped))
    assert.deepStrictEqual(atMost(fees, undefined), fees)
  })

  it.prop("of several attempts are at least those of each", [anyFees, anyFees, anyFees], ([a, b, c]) => {
    const high = highest(a, b, c)
    for (const one of [a, b, c]) {
      assert.isTrue(maxFeeOf(high) >= maxFeeOf(one))
      assert.isTrue(tipOf(high) >= tipOf(one))
    }
  })

  it("are raised by an eighth, rounded up, and by 1 wei at least", () => {
    const raised = (maxFee: bigint, tip: bigint) => raisedFees({ type: "eip1559", maxFee, tip })
    assert.deepStrictEqual(raised(1000n, 8n), { type: "eip1559", maxFee: 1125n, tip: 9n })
    assert.deepStrictEqual(raised(7n, 0n), { type: "eip1559", maxFee: 8n, tip: 1n })
    assert.deepStrictEqual(raisedFees({ type: "legacy", gasPrice: 0n }), { type: "legacy", gasPrice: 1n })
  })
})
