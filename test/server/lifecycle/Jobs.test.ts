// Loops in the background: they outlive whatever happens in a round, and it shows whether they do their work.
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Draining } from "../../../src/server/lifecycle/Draining.ts"
import { Workers } from "../../../src/server/lifecycle/Jobs.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const every = (round: Effect.Effect<void>) => Effect.andThen(round, Effect.sleep("1 second"))

/** Lines of the log, with their levels. */
const recorded = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    lines.push(`${logLevel} ${String(Array.isArray(message) ? message[0] : message)}`)
  })
  return { lines, layer: Logger.layer([logger]) }
}

const statusOf = (worker: "health_checks" | "deliveries") =>
  Effect.flatMap(Workers, ({ statuses }) => Effect.map(statuses, (all) => all[worker]))

describe("a worker", () => {
  const provided = Effect.provide(Workers.layer)

  it.effect("is off where it does not run, and again when its scope has closed", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      assert.strictEqual(yield* statusOf("deliveries"), "off")
      yield* Scope.provide((yield* Workers).run("deliveries", every(Effect.void)), scope)
      assert.strictEqual(yield* statusOf("deliveries"), "healthy")
      assert.strictEqual(yield* statusOf("health_checks"), "off")
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* statusOf("deliveries"), "off")
    }).pipe(provided)
  )

  it.effect("stays healthy however long it runs", () =>
    Effect.gen(function* () {
      let rounds = 0
      yield* (yield* Workers).run("deliveries", every(Effect.sync(() => void rounds++)))
      yield* TestClock.adjust("1 hour")
      assert.isAbove(rounds, 3590)
      assert.strictEqual(yield* statusOf("deliveries"), "healthy")
    }).pipe(provided)
  )

  it.effect("whose rounds die goes on, is unhealthy after half a minute, and recovers; each told once", () => {
    const { lines, layer } = recorded()
    return Effect.gen(function* () {
      let broken = true
      const round = Effect.suspend(() => (broken ? Effect.die(new Error("a defect")) : Effect.void))
      yield* (yield* Workers).run("health_checks", every(round))
      yield* TestClock.adjust("29 seconds")
      assert.strictEqual(yield* statusOf("health_checks"), "healthy")
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* statusOf("health_checks"), "unhealthy")
      broken = false
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(yield* statusOf("health_checks"), "healthy")
      assert.deepStrictEqual(lines, ["Warn job failed", "Info job recovered"])
    }).pipe(Effect.provide(Layer.merge(Workers.layer, layer)))
  })

  it.effect("one of whose loops is stuck is unhealthy, whatever the others do", () =>
    Effect.gen(function* () {
      const { run } = yield* Workers
      yield* run("deliveries", every(Effect.void))
      yield* run("deliveries", Effect.never)
      yield* run("health_checks", every(Effect.void))
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual(yield* statusOf("deliveries"), "unhealthy")
      assert.strictEqual(yield* statusOf("health_checks"), "healthy")
    }).pipe(provided)
  )
})

const ready = Effect.flatMap(TestApi.TestApi, (api) => api.call("/api/v1/ready", { key: null }))

const workers = (text: string) => JSON.parse(text).components.workers

const quiet = Logger.layer([])

layer(Layer.provideMerge(TestApi.layer({ workers: true }), quiet))("an instance that works in the background", (it) => {
  it.effect("is degraded and takes requests where a worker does not do its work; a metric tells", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      const metric = Effect.map(api.call("/metrics/worker_healthy", { key: null }), ({ text }) => text)
      const well = yield* ready
      assert.strictEqual(well.status, 200)
      assert.deepInclude(JSON.parse(well.text), { ready: true, status: "healthy" })
      assert.deepStrictEqual(workers(well.text), { status: "healthy", health_checks: "healthy", deliveries: "healthy" })
      assert.include(yield* metric, 'worker_healthy{worker="deliveries"} 1')

      yield* sql`ALTER TABLE deliveries RENAME TO elsewhere`
      /** Rounds are made on a real database, seconds pass when we say so. */
      const later = Effect.andThen(TestClock.adjust("1 second"), ready)
      const passUntil = (isSo: (answer: TestApi.Answer) => boolean) =>
        Effect.repeat(later, { until: (answer) => isSo(answer) })
      const broken = yield* passUntil(({ text }) => text.includes("degraded"))
      assert.strictEqual(broken.status, 200)
      assert.deepInclude(JSON.parse(broken.text), { ready: true, status: "degraded" })
      assert.deepStrictEqual(workers(broken.text), {
        status: "unhealthy",
        health_checks: "healthy",
        deliveries: "unhealthy"
      })
      assert.include(yield* metric, 'worker_healthy{worker="deliveries"} 0')
      assert.include(yield* metric, 'worker_healthy{worker="health_checks"} 1')

      yield* sql`ALTER TABLE elsewhere RENAME TO deliveries`
      yield* passUntil(({ text }) => !text.includes("degraded"))
    })
  )
})

describe("an instance", () => {
  it.effect("leaves requests to others once it drains, however well its workers are", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(Layer.provideMerge(TestApi.layer({ workers: true }), quiet))
      yield* Context.get(context, Draining).begin
      const answer = yield* Effect.provideContext(ready, context)
      assert.strictEqual(answer.status, 503)
      assert.deepInclude(JSON.parse(answer.text), { ready: false, status: "unhealthy" })
      assert.strictEqual(workers(answer.text).status, "healthy")
    })
  )
})
