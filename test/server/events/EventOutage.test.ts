// Events that cannot be read: streams stay open and continue afterwards, and each failing task is reported once.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, References } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { signer } from "../../../testkit/fixtures.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as EventReader from "./EventReader.ts"

const recorded = () => {
  const tasks: Array<unknown> = []
  const logger = Logger.make(({ logLevel, fiber }) => {
    const { task } = fiber.getRef(References.CurrentLogAnnotations)
    // A busy machine causes warnings that are about no task.
    if (logLevel === "Warn" && task !== undefined) tasks.push(task)
  })
  return { tasks, layer: Logger.layer([logger]) }
}

describe("while the table of events cannot be read", () => {
  it.effect("streams stay open, the instance is degraded, and the log has one warning per task", () => {
    const { tasks, layer } = recorded()
    return Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      const ready = Effect.map(api.call("/api/v1/ready", { key: null }), ({ text }) => text)
      // The queries are real; the seconds between them are those of the test clock.
      const passUntil = (holds: (text: string) => boolean) =>
        Effect.repeat(Effect.andThen(TestClock.adjust("1 second"), ready), { until: (text) => holds(text) })

      const readers = yield* Effect.forEach([1, 2, 3], () => EventReader.open(api.baseUrl))
      for (const reader of readers) yield* reader.until((frames) => frames.length > 0)
      yield* sql`ALTER TABLE events RENAME TO elsewhere`
      // Another job that reads events may become unhealthy before the job `tail`.
      const degraded = yield* passUntil(
        (text) => JSON.parse(text).components.jobs.events === "unhealthy" && tasks.includes("tail")
      )
      assert.include(degraded, "degraded")
      assert.sameMembers(tasks, [...new Set(tasks)])

      yield* sql`ALTER TABLE elsewhere RENAME TO events`
      yield* passUntil((text) => !text.includes("degraded"))
      yield* api.call("/api/v1/signers", { body: signer })
      yield* passUntil(() => readers.every((reader) => reader.events().length === 1))
    }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(TestApi.layer(), layer)))
  })
})
