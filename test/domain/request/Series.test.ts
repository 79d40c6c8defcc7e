// Steps of time: aligned, complete, and bounded.
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { filled, seriesOf } from "../../../src/domain/request/Page.ts"

const hour = 3_600_000
const now = Date.parse("2026-01-02T12:00:30Z")
const at = (text: string) => DateTime.makeUnsafe(text)

describe("a series", () => {
  it.effect("has the last hour by minutes if nothing else is asked", () =>
    Effect.gen(function* () {
      const { since, step, steps } = yield* seriesOf({}, now, 6 * hour)
      assert.deepStrictEqual(new Date(since).toISOString(), "2026-01-02T11:00:00.000Z")
      assert.deepStrictEqual([step, steps], [60_000, 61])
    })
  )

  it.effect("begins with the step that contains its first moment, and ends with the present one", () =>
    Effect.gen(function* () {
      const { since, steps } = yield* seriesOf({ since: at("2026-01-02T11:47:59Z"), step: 300 }, now, hour)
      assert.strictEqual(new Date(since).toISOString(), "2026-01-02T11:45:00.000Z")
      assert.strictEqual(steps, 4)
    })
  )

  it.effect("is refused if it is too long, too fine or in the future, and the field is named", () =>
    Effect.gen(function* () {
      const cases = [
        [{ since: at("2026-01-02T12:00:31Z") }, "since: must not be in the future"],
        [{ since: at("2026-01-02T05:00:00Z") }, "since: must be at most 6 hours ago"],
        [{ step: 0 }, "step: must be at least 1 second"],
        [{ step: 3 }, "step: must be at least 4 seconds for this period"]
      ] as const
      for (const [query, error] of cases) {
        assert.strictEqual((yield* Effect.flip(seriesOf(query, now, 6 * hour))).error, error)
      }
      assert.isAtMost((yield* seriesOf({ step: 4 }, now, 6 * hour)).steps, 1000)
    })
  )

  it("has every step, also those without a row", () => {
    const series = { since: 60_000, step: 60_000, steps: 3 }
    assert.deepStrictEqual(
      filled(series, [{ at: 120_000, count: 7 }], (row) => ({ count: row?.count ?? 0 })).map(({ count }) => count),
      [0, 7, 0]
    )
  })
})
