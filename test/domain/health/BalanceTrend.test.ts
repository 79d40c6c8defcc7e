// What a relayer spends in a day, and for how long its balance suffices.
import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import { sinceOf, trendOf } from "../../../src/domain/health/Funding.ts"

const hour = 3_600_000
const now = 1_800_000_000_000

/** One reading each hour. */
const readings = (...balances: ReadonlyArray<bigint>) =>
  balances.map((balance, index) => ({ at: now + index * hour, balance }))

describe("the trend of a balance", () => {
  it("sums what was spent, whatever was sent to the account in between", () => {
    const { spent_per_day, runway_seconds } = trendOf("wei", readings(100n, 90n, 190n, 180n, 176n), 0n)
    assert.strictEqual(spent_per_day, 24n * 6n)
    assert.strictEqual(runway_seconds, Math.floor((176 * 86_400) / 144))
  })

  it("counts only what is above the minimum as left", () => {
    assert.strictEqual(trendOf("wei", readings(100n, 90n, 80n), 70n).runway_seconds, 3600)
    assert.strictEqual(trendOf("wei", readings(100n, 90n, 80n), 90n).runway_seconds, 0)
  })

  it("has no runway if nothing is spent, and no spending if the readings span less than two hours", () => {
    assert.deepInclude(trendOf("lamport", readings(5n, 5n, 5n), 0n), { spent_per_day: 0n })
    assert.notProperty(trendOf("lamport", readings(5n, 5n, 5n), 0n), "runway_seconds")
    for (const few of [readings(), readings(5n), readings(5n, 4n)]) {
      const trend = trendOf("stroop", few, 0n)
      assert.notProperty(trend, "spent_per_day")
      assert.lengthOf(trend.points, few.length)
    }
  })

  it("keeps every digit", () => {
    const large = 2n ** 128n - 1n
    const { points, runway_seconds } = trendOf("wei", readings(large, large, large - 1n), 0n)
    assert.strictEqual(points[0]?.balance, large)
    assert.strictEqual(runway_seconds, Number.MAX_SAFE_INTEGER)
  })

  it("reaches back seven days if the caller does not say", () => {
    assert.strictEqual(now - sinceOf({}, now), 7 * 24 * hour)
    assert.strictEqual(sinceOf({ since: DateTime.makeUnsafe(5) }, now), 5)
  })
})
