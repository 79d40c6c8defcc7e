// The fees of a chain now, and what transactions offer at them.
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { maxFeeOf, tipOf } from "../../../../src/domain/transaction/evm/Fees.ts"
import * as Market from "../../../../src/domain/transaction/evm/Market.ts"
import { Speed } from "../../../../src/domain/transaction/Speed.ts"

const gwei = 1_000_000_000n
const row = (...tips: ReadonlyArray<number>) => tips.map((tip) => BigInt(tip))

describe("the market", () => {
  it("has the base fee of the next block, and for each speed the median of the tips that are not zero", () => {
    const history = {
      baseFees: [7n, 8n, 9n],
      rewards: [row(1, 2, 3, 4), row(0, 0, 0, 0), row(5, 6, 7, 8), row(100, 100, 100, 100)]
    }
    assert.deepStrictEqual(Market.marketOf(history, { minimumTip: 0n }), {
      baseFee: 9n,
      tips: { safeLow: 5n, average: 6n, fast: 7n, fastest: 8n }
    })
  })

  it("uses the suggested tip if no block has one, else nothing, and never a share of a gwei", () => {
    const empty = { baseFees: [10n, 10n], rewards: [row(0, 0, 0, 0)] }
    assert.strictEqual(Market.marketOf(empty, { minimumTip: 0n }).tips.fast, 0n)
    assert.strictEqual(Market.marketOf(empty, { minimumTip: 0n, suggestedTip: 3n }).tips.fast, 3n)
  })

  it("has the lower tips and the lower gas price of what two providers name", () => {
    const tips = (low: bigint, high: bigint) => ({ safeLow: low, average: low, fast: high, fastest: high })
    const lower = Market.lowerOf({ tips: tips(1n, 9n), gasPrice: 8n }, { tips: tips(2n, 3n), gasPrice: 7n })
    assert.deepStrictEqual(lower, { tips: tips(1n, 3n), gasPrice: 7n })
  })

  it("has no tip below what the network demands", () => {
    const history = { baseFees: [10n, 10n], rewards: [row(1, 1, 1, 1)] }
    assert.strictEqual(Market.marketOf(history, { minimumTip: 30n * gwei }).tips.safeLow, 30n * gwei)
  })

  it("has no base fee on a chain without EIP-1559", () => {
    const none = Market.marketOf({ baseFees: [0n, 0n], rewards: [] }, { minimumTip: 0n, gasPrice: 5n })
    assert.notProperty(none, "baseFee")
    assert.deepStrictEqual(Market.priceOf(none, "fast", "eip1559"), { type: "legacy", gasPrice: 8n })
    assert.strictEqual(Market.floorOf(none), 5n)
  })
})

const wei = Arbitrary.schema(Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 1n, maximum: 2n ** 80n })))
const speeds = Arbitrary.schema(Speed)

const markets = Arbitrary.all([
  wei,
  Arbitrary.array(Arbitrary.array(wei, { minLength: 4, maxLength: 4 }))
] as const).pipe(
  Arbitrary.map(([baseFee, rewards]) => {
    const sorted = rewards.map((tips) => tips.toSorted((one, other) => (one < other ? -1 : 1)))
    return Market.marketOf({ baseFees: [baseFee], rewards: sorted }, { minimumTip: 0n })
  })
)

describe("a price", () => {
  it.prop(
    "survives blocks in a row that raise the base fee by an eighth each",
    [markets, speeds],
    ([market, speed]) => {
      const fees = Market.priceOf(market, speed, "eip1559")
      const blocks = speed === "safeLow" ? 3 : 5
      let base = market.baseFee ?? 0n
      for (let block = 0; block < blocks; block++) base += base / 8n
      assert.isTrue(maxFeeOf(fees) >= base + tipOf(fees))
      assert.isTrue(tipOf(fees) <= maxFeeOf(fees))
    }
  )

  it.prop("of a more urgent speed is not lower", [markets], ([market]) => {
    for (const type of ["legacy", "eip1559"] as const) {
      const prices = Speed.literals.map((speed) => maxFeeOf(Market.priceOf(market, speed, type)))
      assert.deepStrictEqual(
        prices.toSorted((one, other) => (one < other ? -1 : 1)),
        prices
      )
    }
  })

  it.prop("is not below the market that it comes from", [markets, speeds], ([market, speed]) => {
    assert.isFalse(Market.isAbove(market, speed, Market.priceOf(market, speed, "eip1559")))
  })

  it("is below the market once the base fee or the tips have risen", () => {
    const market = { baseFee: 100n, tips: { safeLow: 1n, average: 2n, fast: 3n, fastest: 4n } }
    const fees = { type: "eip1559", maxFee: 203n, tip: 3n } as const
    assert.isFalse(Market.isAbove(market, "fast", fees))
    assert.isTrue(Market.isAbove(market, "fastest", fees))
    assert.isTrue(Market.isAbove({ ...market, baseFee: 201n }, "fast", fees))
  })
})

describe("the limit of a gas price without EIP-1559", () => {
  const readings = [3n, 12n, 48n]
  const many = Array.from({ length: 20 }, (_, index) => BigInt(index + 1))

  it("is four times the first price of one provider, until there are twenty prices", () => {
    assert.deepStrictEqual([Market.gasPriceLimitOf(readings, true), Market.gasPriceLimitOf(many, true)], [12n, 80n])
  })

  it("is four times the highest price if two providers were compared", () => {
    assert.strictEqual(Market.gasPriceLimitOf(readings, false), 192n)
  })

  it("does not exist before there is a price", () => {
    assert.isUndefined(Market.gasPriceLimitOf([], true))
  })
})
