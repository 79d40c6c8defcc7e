// What a check changes in one transaction: the relayer, its events, and the time of the next check.
import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { events, fresh, live, partly, poor, secondsAhead, wrong } from "./CheckOne.ts"
import { away, well } from "./fixtures.ts"

layer(live)("a check", (it) => {
  it.effect("that succeeds does not change the relayer, and is due again in about a minute", () =>
    Effect.gen(function* () {
      const { checks, relayers, repo, id } = yield* fresh()
      assert.deepStrictEqual(yield* checks.now(id), well)
      assert.match((yield* relayers.get(id)).version, /\.1$/)
      assert.deepStrictEqual(yield* events, [])
      const check = Option.getOrThrow(yield* repo.find(id))
      assert.strictEqual(check.state.status, "healthy")
      assert.deepStrictEqual(check.reading, well)
      const seconds = yield* secondsAhead
      assert.isTrue(seconds >= 47 && seconds <= 73, String(seconds))
    })
  )

  it.effect("disables the relayer after two failures in a row, and enables it after a success", () =>
    Effect.gen(function* () {
      const { checks, relayers, id } = yield* fresh(well, away, away, away, well)
      yield* checks.now(id)
      yield* checks.now(id)
      assert.isFalse((yield* relayers.get(id)).value.system_disabled)
      assert.strictEqual(yield* secondsAhead, 10)
      yield* checks.now(id)
      const disabled = yield* relayers.get(id)
      assert.isTrue(disabled.value.system_disabled)
      assert.deepStrictEqual(disabled.value.disabled_reason, {
        type: "RpcValidationFailed",
        details: "2 checks in a row failed: no RPC URL gave a usable answer"
      })
      assert.match(disabled.version, /\.2$/)
      assert.strictEqual(yield* secondsAhead, 20)
      yield* checks.now(id)
      assert.deepStrictEqual(yield* relayers.get(id), disabled)
      assert.strictEqual(yield* secondsAhead, 30)
      yield* checks.now(id)
      const enabled = yield* relayers.get(id)
      assert.isFalse(enabled.value.system_disabled)
      assert.isUndefined(enabled.value.disabled_reason)
      assert.match(enabled.version, /\.3$/)
      assert.deepStrictEqual(yield* events, [
        { type: "relayer.disabled", reason: "RpcValidationFailed" },
        { type: "relayer.enabled", reason: null }
      ])
    })
  )

  it.effect(
    "of a chain that has never answered disables the relayer after three failures, and the reason says so",
    () =>
      Effect.gen(function* () {
        const { checks, relayers, id } = yield* fresh(away, away, away)
        const isDisabled = Effect.gen(function* () {
          yield* checks.now(id)
          return (yield* relayers.get(id)).value.system_disabled
        })
        assert.deepStrictEqual([yield* isDisabled, yield* isDisabled, yield* isDisabled], [false, false, true])
        assert.deepStrictEqual((yield* relayers.get(id)).value.disabled_reason, {
          type: "RpcValidationFailed",
          details: "3 checks in a row failed, and the chain has never answered: no RPC URL gave a usable answer"
        })
      })
  )

  it.effect("of a wrong chain disables the relayer at once, and a new reason replaces the previous one", () =>
    Effect.gen(function* () {
      const { checks, relayers, id } = yield* fresh(wrong, poor, well)
      yield* checks.now(id)
      assert.strictEqual((yield* relayers.get(id)).value.disabled_reason?.type, "ChainIdMismatch")
      yield* checks.now(id)
      assert.strictEqual((yield* relayers.get(id)).value.disabled_reason?.type, "BalanceCheckFailed")
      assert.deepStrictEqual(
        (yield* events).map(({ reason }) => reason),
        ["ChainIdMismatch", "BalanceCheckFailed"]
      )
    })
  )

  it.effect("that finds a dead URL publishes one event and does not change the relayer", () =>
    Effect.gen(function* () {
      const { checks, relayers, id } = yield* fresh(partly, partly, well)
      for (let count = 0; count < 3; count++) yield* checks.now(id)
      assert.match((yield* relayers.get(id)).version, /\.1$/)
      assert.deepStrictEqual(
        (yield* events).map(({ type }) => type),
        ["relayer.degraded", "relayer.recovered"]
      )
    })
  )

  it.effect("of a paused relayer runs as well and publishes its low balance", () =>
    Effect.gen(function* () {
      const { checks, relayers, id } = yield* fresh({ ...well, balance: 150n }, { ...well, balance: 150n })
      yield* relayers.update(id, { paused: true, policies: { min_balance: 100 } })
      yield* checks.now(id)
      yield* checks.now(id)
      assert.deepStrictEqual(
        (yield* events).map(({ type }) => type),
        ["relayer.updated", "relayer.paused", "relayer.low_balance"]
      )
      assert.isFalse((yield* relayers.get(id)).value.system_disabled)
    })
  )

  it.effect("that reads nothing keeps the previous amounts, and the time since when the relayer is disabled", () =>
    Effect.gen(function* () {
      const { checks, repo, id } = yield* fresh(well, away, away, away)
      yield* checks.now(id)
      const first = Option.getOrThrow(yield* repo.find(id))
      yield* checks.now(id)
      yield* checks.now(id)
      const disabled = Option.getOrThrow(yield* repo.find(id))
      yield* checks.now(id)
      const last = Option.getOrThrow(yield* repo.find(id))
      assert.strictEqual(last.reading?.balance, 5n)
      assert.deepStrictEqual(last.read_at, first.read_at)
      assert.deepStrictEqual(last.since, disabled.since)
      assert.notDeepEqual(last.since, first.since)
    })
  )
})
