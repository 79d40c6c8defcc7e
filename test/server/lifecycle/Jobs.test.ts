// Background jobs go on after every failure, report it once, and readiness shows whether they do their work.
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Logger, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { JobName } from "../../../src/api/SystemApi.ts"
import { Draining, Jobs, SchemaWatch } from "../../../src/server/lifecycle/Lifecycle.ts"
import { Gauges } from "../../../src/server/observability/Gauges.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const every = (job: JobName, work: Effect.Effect<void>, task = "test") =>
  Effect.flatMap(Jobs, ({ run }) => run({ job, task, work, wait: () => Effect.sleep("1 second") }))

/** Lines of the log, with their levels. */
const recorded = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    if (logLevel !== "Debug") lines.push(`${logLevel} ${String(Array.isArray(message) ? message[0] : message)}`)
  })
  return { lines, layer: Logger.layer([logger]) }
}

const statusOf = (job: JobName) => Effect.flatMap(Jobs, ({ statuses }) => Effect.map(statuses, (all) => all[job]))

const jobs = Layer.provide(Jobs.layer, Gauges.layer)

const fail = Effect.die(new Error("a defect"))

describe("a job", () => {
  const provided = Effect.provide(jobs)

  it.effect("does no work while the schema needs a newer version, and is unhealthy then", () =>
    Effect.gen(function* () {
      const current = yield* Deferred.make<void>()
      const schema = { isOutdated: Effect.succeed(true), current: Deferred.await(current) }
      yield* Effect.gen(function* () {
        let rounds = 0
        yield* every(
          "deliveries",
          Effect.sync(() => void rounds++)
        )
        yield* TestClock.adjust("31 seconds")
        assert.strictEqual(rounds, 0)
        assert.strictEqual(yield* statusOf("deliveries"), "unhealthy")
        yield* Deferred.succeed(current, undefined)
        yield* TestClock.adjust("1 second")
        assert.isAbove(rounds, 0)
        assert.strictEqual(yield* statusOf("deliveries"), "healthy")
      }).pipe(Effect.scoped, Effect.provide(Layer.provide(jobs, Layer.succeed(SchemaWatch, schema))))
    })
  )

  it.effect("is off before it runs and after its scope has closed", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      let rounds = 0
      assert.strictEqual(yield* statusOf("deliveries"), "off")
      yield* Scope.provide(
        every(
          "deliveries",
          Effect.sync(() => void rounds++)
        ),
        scope
      )
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* statusOf("deliveries"), "healthy")
      assert.strictEqual(yield* statusOf("health_checks"), "off")
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* statusOf("deliveries"), "off")
      const before = rounds
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(rounds, before)
    }).pipe(provided)
  )

  it.effect("stays healthy, however long it runs or waits", () =>
    Effect.gen(function* () {
      let rounds = 0
      yield* every(
        "deliveries",
        Effect.sync(() => void rounds++)
      )
      yield* (yield* Jobs).run({ job: "events", task: "test", work: Effect.void, wait: () => Effect.never })
      yield* TestClock.adjust("1 hour")
      assert.isAbove(rounds, 3590)
      assert.strictEqual(yield* statusOf("deliveries"), "healthy")
      assert.strictEqual(yield* statusOf("events"), "healthy")
    }).pipe(provided)
  )

  it.effect(
    "that fails is retried, is unhealthy after half a minute, and recovers; the log reports each change once",
    () => {
      const { lines, layer } = recorded()
      return Effect.gen(function* () {
        let broken = true
        yield* every(
          "health_checks",
          Effect.suspend(() => (broken ? fail : Effect.void))
        )
        yield* TestClock.adjust("29 seconds")
        assert.strictEqual(yield* statusOf("health_checks"), "healthy")
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(yield* statusOf("health_checks"), "unhealthy")
        broken = false
        yield* TestClock.adjust("3 seconds")
        assert.strictEqual(yield* statusOf("health_checks"), "healthy")
        assert.deepStrictEqual(lines, ["Warn job failed", "Info job recovered"])
      }).pipe(Effect.provide(Layer.merge(jobs, layer)))
    }
  )

  it.effect("survives a failure while it waits", () =>
    Effect.gen(function* () {
      let rounds = 0
      const work = Effect.sync(() => void rounds++)
      yield* (yield* Jobs).run({ job: "events", task: "test", work, wait: () => fail })
      yield* TestClock.adjust("10 seconds")
      assert.isAbove(rounds, 5)
    }).pipe(provided, Effect.provide(Logger.layer([])))
  )

  it.effect("with a task that hangs is unhealthy, even if its other tasks succeed", () =>
    Effect.gen(function* () {
      yield* every("deliveries", Effect.void)
      yield* every("deliveries", Effect.never)
      yield* every("health_checks", Effect.void)
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual(yield* statusOf("deliveries"), "unhealthy")
      assert.strictEqual(yield* statusOf("health_checks"), "healthy")
    }).pipe(provided)
  )

  it.effect("whose work many fibers do is reported once, however many of them fail", () => {
    const { lines, layer } = recorded()
    return Effect.gen(function* () {
      const { supervise } = yield* Jobs
      let broken = true
      const work = Effect.suspend(() => (broken ? fail : Effect.succeed("done")))
      const fibers = yield* Effect.forEach([1, 2, 3], () =>
        Effect.gen(function* () {
          const untilDone = yield* supervise({ job: "events", task: "read" })
          return yield* Effect.forkChild(untilDone(work))
        })
      )
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual(yield* statusOf("events"), "unhealthy")
      broken = false
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* Fiber.joinAll(fibers), ["done", "done", "done"])
      assert.strictEqual(yield* statusOf("events"), "healthy")
      assert.deepStrictEqual(lines, ["Warn job failed", "Info job recovered"])
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(jobs, layer)))
  })

  it.effect("does not count work that was interrupted", () =>
    Effect.gen(function* () {
      const untilDone = yield* (yield* Jobs).supervise({ job: "events", task: "read" })
      const started = yield* Deferred.make<void>()
      const reading = yield* Effect.forkChild(
        untilDone(Effect.andThen(Deferred.succeed(started, undefined), Effect.never))
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(reading)
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual(yield* statusOf("events"), "healthy")
    }).pipe(Effect.scoped, provided)
  )
})

const ready = Effect.flatMap(TestApi.TestApi, (api) => api.call("/api/v1/ready", { key: null }))

const statuses = (text: string) => JSON.parse(text).components.jobs

const healthy = {
  status: "healthy",
  audit: "healthy",
  deliveries: "healthy",
  events: "healthy",
  gauges: "healthy",
  health_checks: "healthy",
  lanes: "healthy",
  retention: "healthy"
}

const quiet = Logger.layer([])

layer(Layer.provideMerge(TestApi.layer({ jobs: true }), quiet))("an instance whose deliveries fail", (it) => {
  it.effect("is degraded, still takes requests, and shows it in the metric job_healthy", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      const metric = Effect.map(api.call("/metrics/job_healthy", { key: null }), ({ text }) => text)
      const before = yield* ready
      assert.strictEqual(before.status, 200)
      assert.deepInclude(JSON.parse(before.text), { ready: true, status: "healthy" })
      assert.deepStrictEqual(statuses(before.text), healthy)
      assert.include(yield* metric, 'job_healthy{job="deliveries"} 1')

      yield* sql`ALTER TABLE deliveries RENAME TO elsewhere`
      // The queries are real; the seconds between them are those of the test clock.
      const later = Effect.andThen(TestClock.adjust("1 second"), ready)
      const passUntil = (isSo: (answer: TestApi.Answer) => boolean) =>
        Effect.repeat(later, { until: (answer) => isSo(answer) })
      const broken = yield* passUntil(({ text }) => text.includes("degraded"))
      assert.strictEqual(broken.status, 200)
      assert.deepInclude(JSON.parse(broken.text), { ready: true, status: "degraded" })
      assert.deepStrictEqual(statuses(broken.text), { ...healthy, status: "unhealthy", deliveries: "unhealthy" })
      assert.include(yield* metric, 'job_healthy{job="deliveries"} 0')
      assert.include(yield* metric, 'job_healthy{job="health_checks"} 1')

      yield* sql`ALTER TABLE elsewhere RENAME TO deliveries`
      yield* passUntil(({ text }) => !text.includes("degraded"))
    })
  )
})

describe("an instance", () => {
  it.effect("that drains refuses requests, however healthy its jobs are", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(Layer.provideMerge(TestApi.layer({ jobs: true }), quiet))
      yield* Context.get(context, Draining).begin
      const answer = yield* Effect.provideContext(ready, context)
      assert.strictEqual(answer.status, 503)
      assert.deepInclude(JSON.parse(answer.text), { ready: false, status: "unhealthy" })
      assert.strictEqual(statuses(answer.text).status, "healthy")
    })
  )
})
