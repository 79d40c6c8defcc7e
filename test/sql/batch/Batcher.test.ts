// Batches end with their layer, and give each request its own answer.
import { assert, layer } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as Batcher from "../../../src/sql/batch/Batcher.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

const makeIn = <A>(scope: Scope.Scope, options: Batcher.Options<number, A>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => Scope.provide(Batcher.make(sql, options), scope))

const isInterrupted = <A>(exit: Exit.Exit<A>) => Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)

layer(TestDatabase.layer)("a batcher", (it) => {
  it.effect("answers concurrent requests in one batch, each with its own answer", () =>
    Effect.gen(function* () {
      const batches: Array<ReadonlyArray<number>> = []
      const all = (keys: ReadonlyArray<number>) =>
        Effect.sync(() => {
          batches.push(keys)
          return keys.map((key) => key * 10)
        })
      const request = yield* makeIn(yield* Effect.scope, { all })
      const answers = yield* Effect.forEach([1, 2, 3], request, { concurrency: "unbounded" })
      assert.deepStrictEqual(answers, [10, 20, 30])
      assert.deepStrictEqual(batches, [[1, 2, 3]])
    })
  )

  it.effect("with alternating groups runs two batches at once, and queues for the third", () =>
    Effect.gen(function* () {
      const batches: Array<ReadonlyArray<number>> = []
      const end = yield* Deferred.make<void>()
      const all = (keys: ReadonlyArray<number>) => {
        batches.push(keys)
        return Effect.as(Deferred.await(end), keys)
      }
      const request = yield* makeIn(yield* Effect.scope, { all, group: Batcher.alternating() })
      const begin = (keys: ReadonlyArray<number>) =>
        Effect.forkChild(Effect.forEach(keys, request, { concurrency: "unbounded" }))
      const first = yield* begin([1, 2, 3])
      yield* Effect.yieldNow.pipe(Effect.repeat({ until: () => batches.length === 2 }))
      const second = yield* begin([4, 5])
      for (let turn = 0; turn < 10; turn++) yield* Effect.yieldNow
      assert.deepStrictEqual(batches, [[1, 3], [2]])
      yield* Deferred.succeed(end, undefined)
      assert.deepStrictEqual(yield* Fiber.join(first), [1, 2, 3])
      assert.deepStrictEqual(yield* Fiber.join(second), [4, 5])
      assert.deepStrictEqual(batches.slice(2), [[5], [4]])
    })
  )

  it.effect("interrupts running and queued requests when its scope closes, and every request after that", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const started = yield* Deferred.make<void>()
      const request = yield* makeIn(scope, {
        all: () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      })
      const running = yield* Effect.forkChild(request(1))
      yield* Deferred.await(started)
      const queued = yield* Effect.forkChild(request(2), { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(isInterrupted(yield* Fiber.await(running)))
      assert.isTrue(isInterrupted(yield* Fiber.await(queued)))
      assert.isTrue(isInterrupted(yield* Effect.exit(request(3))))
    })
  )

  it.effect("fails every request of a batch that has too few answers", () =>
    Effect.gen(function* () {
      const request = yield* makeIn(yield* Effect.scope, { all: (keys) => Effect.succeed(keys.slice(1)) })
      const exits = yield* Effect.forEach([1, 2], (key) => Effect.exit(request(key)), { concurrency: "unbounded" })
      for (const exit of exits) {
        assert.isTrue(Exit.isFailure(exit) && Cause.pretty(exit.cause).includes("a batch of 2 requests has 1 answers"))
      }
    })
  )
})
