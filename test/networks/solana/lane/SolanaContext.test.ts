// What rows of a lane read together.
import { Deferred, Effect, Fiber } from "effect"
import { assert, it } from "@effect/vitest"
import { sharedValue } from "../../../../src/networks/solana/lane/SolanaPolls.ts"

/** Milliseconds that an answer is shared. */
const age = 1000

it.effect("an answer is read once for those who ask meanwhile, and again when it is too old or has failed", () =>
  Effect.gen(function* () {
    const values: Parameters<typeof sharedValue<string, number, string>>[0] = new Map()
    let reads = 0
    const read = Effect.andThen(
      Effect.yieldNow,
      Effect.suspend(() => (++reads === 3 ? Effect.fail("away") : Effect.succeed(reads)))
    )
    const ask = (now: number) => Effect.result(sharedValue(values, "key", age, now, read))
    const both = yield* Effect.all([ask(0), ask(age - 1)], { concurrency: "unbounded" })
    assert.deepStrictEqual(
      both.map((answer) => answer._tag === "Success" && answer.success),
      [1, 1]
    )
    const later = [yield* ask(age), yield* ask(2 * age), yield* ask(2 * age)]
    assert.deepStrictEqual(
      later.map((answer) => (answer._tag === "Success" ? answer.success : answer.failure)),
      [2, "away", 4]
    )
  })
)

it.effect("a reader that is interrupted does not interrupt those who wait for its answer", () =>
  Effect.gen(function* () {
    const values: Parameters<typeof sharedValue<string, string, never>>[0] = new Map()
    const started = yield* Deferred.make<void>()
    const stuck = Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
    const reader = yield* Effect.forkChild(sharedValue(values, "key", age, 0, stuck))
    yield* Deferred.await(started)
    const waiters = yield* Effect.forEach(["one", "two"], (answer) =>
      Effect.forkChild(sharedValue(values, "key", age, 0, Effect.succeed(answer)), { startImmediately: true })
    )
    yield* Fiber.interrupt(reader)
    assert.deepStrictEqual(yield* Effect.forEach(waiters, Fiber.join), ["one", "one"])
  })
)
