// Long work that leaves time to other requests.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { pacedAtShare } from "../../src/sql/Rows.ts"

/** Milliseconds that the work of a piece takes. */
const piece = 8

/** Milliseconds by which a timer may end early. */
const tolerance = 1

const busy = Effect.sync(() => {
  const startedAt = performance.now()
  while (performance.now() - startedAt < piece) continue
  return "done"
})

describe("work at a share of the time", () => {
  it.effect("is followed by a pause that is three times as long if the share is a quarter", () =>
    Effect.gen(function* () {
      const startedAt = performance.now()
      assert.strictEqual(yield* pacedAtShare(0.25)(busy), "done")
      assert.isAtLeast(performance.now() - startedAt, 4 * piece - tolerance)
    })
  )
})
