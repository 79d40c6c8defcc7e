// The tries, the rate and the breaker of calls to key services.
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Ref } from "effect"
import { TestClock } from "effect/testing"
import { makeRemoteCalls } from "../../../../src/server/signers/backends/RemoteSigner.ts"
import type { Identity } from "../../../../src/server/signers/backends/RemoteSigner.ts"
import { SignerUnavailable } from "../../../../src/server/signers/backends/SignerBackend.ts"

const identity: Identity = { service: "The key service", breaker: "a", account: "a", rate: 1000 }

const failure = (reason: SignerUnavailable["reason"], retryAfter?: number) =>
  new SignerUnavailable({ reason, message: reason, ...(retryAfter === undefined ? {} : { retryAfter }) })

/** Fails with each failure in turn, then succeeds. */
const failing = (failures: ReadonlyArray<SignerUnavailable>) =>
  Effect.map(Ref.make(0), (calls) => ({
    calls: Ref.get(calls),
    call: Effect.flatMap(
      Ref.getAndUpdate(calls, (n) => n + 1),
      (n) => {
        const failed = failures[n]
        return failed === undefined ? Effect.succeed("signed") : Effect.fail(failed)
      }
    )
  }))

const outcome = <A>(self: Effect.Effect<A, SignerUnavailable>) =>
  Effect.match(self, { onSuccess: String, onFailure: ({ reason }) => reason })

describe("calls to a key service", () => {
  it.effect("are tried three times if it does not answer, and twice if it refuses the login", () =>
    Effect.gen(function* () {
      for (const [reason, tries] of [
        ["unreachable", 3],
        ["throttled", 3],
        ["login", 2],
        ["refused", 1],
        ["pending", 1]
      ] as const) {
        const { run } = yield* makeRemoteCalls
        const { call, calls } = yield* failing(Array.from({ length: 4 }, () => failure(reason)))
        const fiber = yield* Effect.forkChild(outcome(run(identity, call)))
        yield* TestClock.adjust("8 seconds")
        assert.deepStrictEqual([yield* Fiber.join(fiber), yield* calls], [reason, tries])
      }
    })
  )

  it.effect("wait as long as the key service asks for", () =>
    Effect.gen(function* () {
      const { run } = yield* makeRemoteCalls
      const { call, calls } = yield* failing([failure("throttled", 5000)])
      const fiber = yield* Effect.forkChild(outcome(run(identity, call)))
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual(yield* calls, 1)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* Fiber.join(fiber), "signed")
    })
  )

  it.effect("end at once if the key service asks for a longer wait than there is time for", () =>
    Effect.gen(function* () {
      const { run } = yield* makeRemoteCalls
      const { call, calls } = yield* failing([failure("throttled", 9000)])
      const { reason, retryAfter } = yield* Effect.flip(run(identity, call))
      assert.deepStrictEqual([reason, retryAfter, yield* calls], ["throttled", 9000, 1])
    })
  )

  it.effect("stop after failures in a row, and start again with one call after a while", () =>
    Effect.gen(function* () {
      const { run } = yield* makeRemoteCalls
      const { call, calls } = yield* failing(Array.from({ length: 5 }, () => failure("unexpected")))
      for (let n = 0; n < 5; n++) assert.strictEqual(yield* outcome(run(identity, call)), "unexpected")
      const { message, retryAfter } = yield* Effect.flip(run(identity, call))
      assert.include(message, "is not called for a while")
      assert.isAtMost(retryAfter ?? 0, 1000)
      assert.strictEqual(yield* calls, 5)
      assert.strictEqual(yield* outcome(run({ ...identity, breaker: "b" }, Effect.succeed("of another"))), "of another")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* outcome(run(identity, call)), "signed")
    })
  )

  it.effect("go on, however often the key service refuses one key", () =>
    Effect.gen(function* () {
      const { run } = yield* makeRemoteCalls
      for (const reason of ["refused", "not_found", "bad_key", "pending", "mismatch"] as const) {
        const { call } = yield* failing(Array.from({ length: 10 }, () => failure(reason)))
        for (let n = 0; n < 10; n++) assert.strictEqual(yield* outcome(run(identity, call)), reason)
      }
      assert.strictEqual(yield* outcome(run(identity, Effect.succeed("signed"))), "signed")
    })
  )

  it.effect("keep the rate of the account, and end if the turn would come too late", () =>
    Effect.gen(function* () {
      const { run } = yield* makeRemoteCalls
      const slow = { ...identity, rate: 2 }
      let calls = 0
      const call = Effect.sync(() => (calls++, "signed"))
      const signing = yield* Effect.forEach(Array.from({ length: 30 }), () =>
        Effect.forkChild(outcome(run(slow, call)))
      )
      yield* TestClock.adjust(Duration.millis(499))
      assert.strictEqual(calls, 2)
      yield* TestClock.adjust(Duration.seconds(9))
      const outcomes = yield* Effect.forEach(signing, Fiber.join)
      const signed = outcomes.filter((text) => text === "signed").length
      // Two at once, and two in each second before the eighth.
      assert.isAtLeast(signed, 16)
      assert.isAtMost(signed, 18)
      assert.strictEqual(outcomes.filter((text) => text === "throttled").length, 30 - signed)
    })
  )
})
