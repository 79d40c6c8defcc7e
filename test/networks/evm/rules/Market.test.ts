// The fees of a chain now, and what transactions offer at them.
import { Arbitrary, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { Speed } from "../../../../src/networks/core/TransactionValues.ts"
import {
  abovePassedOver,
  floorOf,
  gasPriceLimitOf,
  isAbove,
  isQuiet,
  lacksNextBaseFee,
  lowerOf,
  marketOf,
  maxFeeOf,
  priceOf,
  tipOf
} from "../../../../src/networks/evm/rules/Market.ts"
import type { FeeHistory, Sources } from "../../../../src/networks/evm/rules/Market.ts"

const gwei = 1_000_000_000n
const mega = 1_000_000n

/** The tips of a block: the lowest, and those at the percentiles of the speeds. */
const row = (lowest: bigint, ...tips: ReadonlyArray<bigint>) => [
  ...Array.from({ length: 4 }, () => lowest),
  ...Array.from({ length: 4 }, (_, index) => tips[index] ?? tips[0] ?? lowest)
]

/** Blocks with these tips, oldest first. `used`: the share of its gas that each used, and own transactions in it. */
const historyOf = (
  rewards: ReadonlyArray<ReadonlyArray<bigint>>,
  used: number | ReadonlyArray<number>,
  ownGas: ReadonlyArray<number> = []
): FeeHistory => ({
  baseFees: [...rewards.map(() => 8n * gwei), 9n * gwei],
  rewards,
  gasUsed: typeof used === "number" ? rewards.map(() => used) : used,
  ownGas
})

const none = row(0n)
const tipsOf = (history: FeeHistory, sources: Partial<Sources> = {}) =>
  marketOf(history, { minimumTip: 0n, ...sources }).tips
const same = (tip: bigint) => ({ safeLow: tip, average: tip, fast: tip, fastest: tip })

describe("the market", () => {
  it("has the base fee of the next block, and for each speed its percentile, but not far above the lowest tip, of full blocks", () => {
    const close = row(100n * mega, 101n * mega, 102n * mega, 103n * mega, 104n * mega)
    const wide = row(100n * mega, 200n * mega, 400n * mega, 800n * mega, 60n * gwei)
    const market = marketOf(historyOf(Array(10).fill(close), 1), { minimumTip: 0n })
    assert.deepStrictEqual(market, {
      baseFee: 9n * gwei,
      tips: { safeLow: 101n * mega, average: 102n * mega, fast: 103n * mega, fastest: 104n * mega },
      enough: Array(10).fill(100n * mega)
    })
    assert.deepStrictEqual(tipsOf(historyOf(Array(10).fill(wide), 1)), {
      safeLow: 112_500_000n,
      average: 120n * mega,
      fast: 125n * mega,
      fastest: 130n * mega
    })
  })

  it("has the tip of the cheapest block within the patience of the speed", () => {
    const rising = Array.from({ length: 10 }, (_, index) => row(BigInt(index + 1) * gwei))
    const { safeLow, average, fast, fastest } = tipsOf(historyOf(rising, 1))
    assert.deepStrictEqual([safeLow, average, fast, fastest], [gwei, 5n * gwei, 7n * gwei, 9n * gwei])
  })

  it("has the least tip if a block within the patience had room, whatever was paid for it", () => {
    const stranger = historyOf(Array(10).fill(row(60n * gwei)), 0.002)
    assert.deepStrictEqual(tipsOf(stranger), same(mega))
    const used = Array(10).fill(1).with(7, 0.5)
    const { safeLow, average, fast, fastest } = tipsOf(historyOf(Array(10).fill(row(60n * gwei)), used))
    assert.deepStrictEqual([safeLow, average, fast, fastest], [mega, mega, mega, 60n * gwei])
  })

  it("counts a block as one with room if own transactions used the larger part of it", () => {
    const history = (own: number) => historyOf(Array(10).fill(row(60n * gwei)), 1, Array(10).fill(own))
    assert.deepStrictEqual([tipsOf(history(0.4)), tipsOf(history(0.6))], [same(60n * gwei), same(mega)])
  })

  it("counts a block as full if its share of used gas is not known", () => {
    const { gasUsed: _, ...history } = historyOf(Array(10).fill(row(60n * gwei)), 0)
    assert.deepStrictEqual(tipsOf(history), same(60n * gwei))
  })

  it("has less than makers of blocks usually take if the node suggests it, or most transactions paid it", () => {
    const quiet = historyOf([...Array(9).fill(none), row(60n * gwei)], 0)
    assert.isTrue(isQuiet(quiet))
    assert.deepStrictEqual(tipsOf(quiet, { suggestedTip: 1n }), same(1n))
    assert.deepStrictEqual(tipsOf(quiet, { suggestedTip: 60n * gwei }), same(mega))
    const own = historyOf([...Array(7).fill(none), row(60n * gwei), row(1n), row(1n)], 0)
    assert.isFalse(isQuiet(own))
    assert.deepStrictEqual(tipsOf(own), same(1n))
  })

  it("pays the least that the node takes after three blocks, after one that was overpaid", () => {
    for (const after of [0, 1, 2, 3]) {
      const rows = [...Array(9 - after).fill(none), row(60n * gwei), ...Array(after).fill(row(1n))]
      assert.deepStrictEqual(tipsOf(historyOf(rows, 0.001), { suggestedTip: 1n }), same(1n), `${after}`)
    }
  })

  it("never has a tip of zero, which geth refuses", () => {
    assert.deepStrictEqual(tipsOf(historyOf(Array(10).fill(none), 0), { suggestedTip: 0n }), same(1n))
  })

  it("knows that the base fee of the next block is missing if there are not more base fees than blocks", () => {
    const { baseFees, ...history } = historyOf(Array(10).fill(none), 0)
    const coreth = { ...history, baseFees: baseFees.slice(1) }
    assert.deepStrictEqual([lacksNextBaseFee(coreth), lacksNextBaseFee({ ...history, baseFees })], [true, false])
    const market = marketOf(coreth, { minimumTip: 0n, suggestedTip: 225n * gwei, gasPrice: 225n * gwei + 1n })
    assert.deepStrictEqual(market, {
      baseFee: 1n,
      tips: same(1n),
      roomyBlocks: 10,
      enough: [225n * gwei],
      isMoving: true
    })
  })

  it("offers the lowest higher tip that was enough after one was passed over", () => {
    const market = { tips: { ...same(mega), fastest: 9n * gwei }, enough: [3n * gwei, 2n * gwei, mega, 1n] }
    assert.deepStrictEqual(abovePassedOver(market, undefined), market)
    assert.deepStrictEqual(abovePassedOver(market, mega).tips, { ...same(2n * gwei), fastest: 9n * gwei })
    assert.deepStrictEqual(abovePassedOver(market, 9n * gwei), market)
  })

  it("has the lower tips and the lower gas price of what two providers name", () => {
    const tips = (low: bigint, high: bigint) => ({ safeLow: low, average: low, fast: high, fastest: high })
    const one = { tips: tips(1n, 9n), gasPrice: 8n, roomyBlocks: 4, enough: [1n, 9n] }
    const lower = lowerOf(one, { tips: tips(2n, 3n), gasPrice: 7n, roomyBlocks: 3, enough: [2n, 3n] })
    assert.deepStrictEqual(lower, { tips: tips(1n, 3n), gasPrice: 7n, roomyBlocks: 3, enough: [2n, 3n] })
  })

  it("has no tip below what the network demands", () => {
    const history = { baseFees: [10n, 10n], rewards: [row(1n)] }
    assert.strictEqual(marketOf(history, { minimumTip: 30n * gwei }).tips.safeLow, 30n * gwei)
  })

  it("has no base fee on a chain without EIP-1559", () => {
    const none = marketOf({ baseFees: [0n, 0n], rewards: [] }, { minimumTip: 0n, gasPrice: 5n })
    assert.notProperty(none, "baseFee")
    assert.deepStrictEqual(priceOf(none, "fast", "eip1559"), { type: "legacy", gasPrice: 8n })
    assert.strictEqual(floorOf(none), 5n)
  })
})

const wei = Arbitrary.schema(Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 1n, maximum: 2n ** 80n })))
const speeds = Arbitrary.schema(Speed)

const markets = Arbitrary.all([
  wei,
  Arbitrary.array(Arbitrary.array(wei, { minLength: 8, maxLength: 8 }))
] as const).pipe(
  Arbitrary.map(([baseFee, rewards]) => {
    const sorted = rewards.map((tips) => tips.toSorted((one, other) => (one < other ? -1 : 1)))
    return marketOf({ baseFees: [baseFee], rewards: sorted }, { minimumTip: 0n })
  })
)

describe("a price", () => {
  it.prop(
    "survives blocks in a row that raise the base fee by an eighth each",
    [markets, speeds],
    ([market, speed]) => {
      const fees = priceOf(market, speed, "eip1559")
      const blocks = speed === "safeLow" ? 3 : 5
      let base = market.baseFee ?? 0n
      for (let block = 0; block < blocks; block++) base += base / 8n
      assert.isTrue(maxFeeOf(fees) >= base + tipOf(fees))
      assert.isTrue(tipOf(fees) <= maxFeeOf(fees))
    }
  )

  it.prop("of a more urgent speed is not lower", [markets], ([market]) => {
    for (const type of ["legacy", "eip1559"] as const) {
      const prices = Speed.literals.map((speed) => maxFeeOf(priceOf(market, speed, type)))
      assert.deepStrictEqual(
        prices.toSorted((one, other) => (one < other ? -1 : 1)),
        prices
      )
    }
  })

  it.prop("is not below the market that it comes from", [markets, speeds], ([market, speed]) => {
    assert.isFalse(isAbove(market, speed, priceOf(market, speed, "eip1559")))
  })

  it("is below the market once the base fee or the tips have risen", () => {
    const market = { baseFee: 100n, tips: { safeLow: 1n, average: 2n, fast: 3n, fastest: 4n } }
    const fees = { type: "eip1559", maxFee: 203n, tip: 3n } as const
    assert.isFalse(isAbove(market, "fast", fees))
    assert.isTrue(isAbove(market, "fastest", fees))
    assert.isTrue(isAbove({ ...market, baseFee: 201n }, "fast", fees))
  })
})

describe("the limit of a gas price without EIP-1559", () => {
  const readings = [3n, 12n, 48n]
  const many = Array.from({ length: 20 }, (_, index) => BigInt(index + 1))

  it("is four times the first price of one provider, until there are twenty prices", () => {
    assert.deepStrictEqual([gasPriceLimitOf(readings, true), gasPriceLimitOf(many, true)], [12n, 80n])
  })

  it("is four times the highest price if two providers were compared", () => {
    assert.strictEqual(gasPriceLimitOf(readings, false), 192n)
  })

  it("does not exist before there is a price", () => {
    assert.isUndefined(gasPriceLimitOf([], true))
  })
})
