// The log says how many rows a retention has deleted.
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { Jobs } from "../../../src/server/lifecycle/Lifecycle.ts"
import { deleteOld } from "../../../src/server/lifecycle/SharedJobs.ts"
import { Gauges } from "../../../src/server/observability/Gauges.ts"

it.effect(
  "a retention deletes batches until one is not full, and logs the number of rows, but not if there were none",
  () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make(({ message, fiber }) => {
        const { task, rows } = fiber.getRef(References.CurrentLogAnnotations)
        lines.push(`${String(message)} ${String(task)} ${String(rows)}`)
      })
      const counts = [2, 2, 1, 0]
      const deleteBatch = Effect.sync(() => counts.shift() ?? 0)
      yield* deleteOld("events", 2, deleteBatch).pipe(
        Effect.andThen(TestClock.adjust("2 minutes")),
        Effect.scoped,
        Effect.provide(Layer.merge(Layer.provide(Jobs.layer, Gauges.layer), Logger.layer([logger])))
      )
      assert.deepStrictEqual(lines, ["old rows deleted events 5"])
      assert.isEmpty(counts)
    })
)
