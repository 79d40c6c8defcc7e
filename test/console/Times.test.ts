// Durations and moments as pages show them.
import { assert, describe, it } from "@effect/vitest"
import { duration, latency, moment, step } from "../../web/src/data/Times.ts"

const now = Date.parse("2026-01-02T23:30:00.000Z")

describe("a moment", () => {
  it("has no date if it is today", () => {
    assert.strictEqual(moment(Date.parse("2026-01-02T00:00:01.000Z"), now), "00:00:01")
    assert.strictEqual(moment(Date.parse("2026-01-02T23:59:59.000Z"), now), "23:59:59")
  })

  it("has a date if it is yesterday or tomorrow, however near that is", () => {
    assert.strictEqual(moment(Date.parse("2026-01-03T00:00:00.000Z"), now), "2026-01-03 00:00:00")
    assert.strictEqual(moment(Date.parse("2026-01-01T23:59:59.000Z"), now), "2026-01-01 23:59:59")
  })
})

describe("a duration", () => {
  it("has at most two units, and is never negative", () => {
    assert.deepStrictEqual([-1, 59_999, 60_000, 7_500_000, 273_600_000].map(duration), [
      "0 s",
      "59 s",
      "1 min",
      "2 h 5 min",
      "3 d 4 h"
    ])
  })

  it("has digits below a second if it is the latency of an answer, and below a minute between two steps", () => {
    assert.deepStrictEqual([42, 1_240, 61_000].map(latency), ["42 ms", "1.2 s", "1 min"])
    assert.strictEqual(step(40), "0.0 s")
  })
})
