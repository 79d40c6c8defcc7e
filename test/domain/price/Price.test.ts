// Prices are exact fractions: what a fee costs in a token is rounded once, in favour of the relayer.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  decimalOf,
  isWithin,
  lessSlippage,
  PriceBounds,
  unitsFor,
  withMargin
} from "../../../src/domain/price/Price.ts"

const price = (units: bigint, native: bigint) => ({ units, native })

describe("a price", () => {
  it("gives the fewest units that are worth the amount", () => {
    assert.strictEqual(unitsFor(5000n, price(150_000_000n, 1_000_000_000n)), 750n)
    assert.strictEqual(unitsFor(5001n, price(150_000_000n, 1_000_000_000n)), 751n)
    assert.strictEqual(unitsFor(1n, price(1n, 1_000_000_000n)), 1n)
  })

  it("keeps every digit of large amounts", () => {
    const most = 2n ** 64n - 1n
    assert.strictEqual(unitsFor(most, price(most, most - 1n)), most + 2n)
  })

  it("is compared with its bounds as a price of a unit, bounds included", () => {
    const bounds = { min: price(2n, 1n), max: price(1n, 2n) }
    assert.isTrue(isWithin(price(2n, 1n), bounds))
    assert.isTrue(isWithin(price(1n, 2n), bounds))
    assert.isTrue(isWithin(price(7n, 7n), bounds))
    assert.isFalse(isWithin(price(2_000_001n, 1_000_000n), bounds))
    assert.isFalse(isWithin(price(1_000_000n, 2_000_001n), bounds))
  })
})

it("amounts are shown in whole tokens without rounding", () => {
  assert.deepStrictEqual(
    [decimalOf(1650n, 6), decimalOf(150_000_000n, 6), decimalOf(7n, 0), decimalOf(0n, 6), decimalOf(1_000_001n, 6)],
    ["0.00165", "150", "7", "0", "1.000001"]
  )
})

describe("bounds", () => {
  it("whose highest price is below the lowest one are refused", () => {
    const decode = Schema.decodeUnknownResult(PriceBounds)
    const [low, high] = [
      { units: 2, native: 1 },
      { units: 1, native: 2 }
    ]
    assert.strictEqual(decode({ min: low, max: high })._tag, "Success")
    assert.strictEqual(decode({ min: high, max: low })._tag, "Failure")
  })
})

describe("percentages", () => {
  it("are added exactly and rounded up", () => {
    assert.strictEqual(withMargin(5000n, 0), 5000n)
    assert.strictEqual(withMargin(5000n, 0.29), 5015n)
    assert.strictEqual(withMargin(1n, 10), 2n)
  })

  it("are taken off exactly and rounded up", () => {
    assert.strictEqual(lessSlippage(1000n, 1), 990n)
    assert.strictEqual(lessSlippage(999n, 1), 990n)
    assert.strictEqual(lessSlippage(1000n, 100), 0n)
  })
})
