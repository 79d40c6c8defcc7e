// Batches end with their layer, and give each request its own answer.
import { assert, layer } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as Batcher from "../../../src/sql/batch/Batcher.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

const makeIn = <A>(scope: Scope.Scope, options: Batcher.Options<number, A>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => Scope.provide(Batcher.make(sql, options), scope))

const isInterrupted = <A>(exit: Exit.Exit<A>) => Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)

/** Lets the other fibers run until they wait. */
const settled = Effect.repeat(Effect.yieldNow, { times: 20 })

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

  it.effect("begins a second batch if a full one waits, and no third one", () =>
    Effect.gen(function* () {
      const ends = new Map<number, Deferred.Deferred<void>>()
      const begun: Array<ReadonlyArray<number>> = []
      const request = yield* makeIn(yield* Effect.scope, {
        size: 2,
        all: (keys) =>
          Effect.gen(function* () {
            const end = yield* Deferred.make<void>()
            begun.push(keys)
            ends.set(keys[0], end)
            yield* Deferred.await(end)
            return keys
          })
      })
      const send = (key: number) => Effect.andThen(Effect.forkChild(request(key)), settled)
      const end = (first: number) =>
        Effect.andThen(Deferred.succeed(ends.get(first) ?? assert.fail("no such batch"), undefined), settled)

      yield* send(1)
      yield* send(2)
      assert.deepStrictEqual(begun, [[1]])
      yield* send(3)
      assert.deepStrictEqual(begun, [[1], [2, 3]])
      for (const key of [4, 5, 6]) yield* send(key)
      assert.deepStrictEqual(begun, [[1], [2, 3]])
      yield* end(2)
      assert.deepStrictEqual(begun, [[1], [2, 3], [4, 5]])
      yield* end(1)
      assert.deepStrictEqual(begun, [[1], [2, 3], [4, 5]])
      yield* end(4)
      assert.deepStrictEqual(begun, [[1], [2, 3], [4, 5], [6]])
      yield* end(6)
    })
  )

  it.effect("runs one batch at a time without a size", () =>
    Effect.gen(function* () {
      const end = yield* Deferred.make<void>()
      const begun: Array<ReadonlyArray<number>> = []
      const request = yield* makeIn(yield* Effect.scope, {
        all: (keys) => {
          begun.push(keys)
          return Effect.as(Deferred.await(end), keys)
        }
      })
      const answers = yield* Effect.forkChild(Effect.forEach([1, 2, 3], request, { concurrency: "unbounded" }))
      yield* settled
      const later = yield* Effect.forkChild(Effect.forEach([4, 5], request, { concurrency: "unbounded" }))
      yield* settled
      assert.deepStrictEqual(begun, [[1, 2, 3]])
      yield* Deferred.succeed(end, undefined)
      assert.deepStrictEqual([...(yield* Fiber.join(answers)), ...(yield* Fiber.join(later))], [1, 2, 3, 4, 5])
      assert.deepStrictEqual(begun, [
        [1, 2, 3],
        [4, 5]
      ])
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
