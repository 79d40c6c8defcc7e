import { assert, describe, it } from "@effect/vitest"
import { line, median } from "../../bench/harness/Statistics.ts"

describe("Statistics", () => {
  it("the median of an even number of values is the mean of the two in the middle", () => {
    assert.strictEqual(median([3, 1, 2]), 2)
    assert.strictEqual(median([10, 4, 1, 2]), 3)
  })

  it("points on a straight line have its slope and no error", () => {
    const { slope, standardError } = line([0, 1, 2, 3, 4].map((x) => [x, 100 + 2.5 * x] as const))
    assert.closeTo(slope, 2.5, 1e-9)
    assert.closeTo(standardError, 0, 1e-9)
  })

  it("points that oscillate without growth have a slope within twice its error", () => {
    const { slope, standardError } = line(Array.from({ length: 40 }, (_, x) => [x, 200 + (x % 4)] as const))
    assert.isBelow(Math.abs(slope), 2 * standardError)
  })
})
