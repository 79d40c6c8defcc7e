// What a check changes in one transaction: the relayer, its events, and the time of the next check.
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { ChainSnapshot } from "../../../src/domain/chain/ChainSnapshot.ts"
import type { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { HealthChecks } from "../../../src/server/health/HealthChecks.ts"
import { HealthRepo } from "../../../src/server/health/HealthRepo.ts"
import { StoredRelayers } from "../../../src/server/relayers/StoredRelayers.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"
import { away, chains, checks, idOf, insertRelayers, well } from "./fixtures.ts"

/** The chain. Each test sets it. */
let inspect: (id: RelayerId) => Effect.Effect<ChainSnapshot> = () => Effect.succeed(well)

const chain = chains((id) => inspect(id))

const answers = (...readings: ReadonlyArray<ChainSnapshot>) => {
  const left = [...readings]
  inspect = () => Effect.sync(() => left.shift() ?? well)
}

const poor: ChainSnapshot = { ...well, balance: 0n, failures: [{ type: "BalanceCheckFailed", code: "too_low" }] }
const wrong: ChainSnapshot = { ...away, failures: [{ type: "ChainIdMismatch", code: "mismatch" }] }
const partly: ChainSnapshot = {
  ...well,
  providers: [{ url: "https://one.example", weight: 1, breaker: "open", failed: true, code: "unreachable" }]
}

const claiming = { token: "mine", limit: 1000, lease: 60_000, horizon: 120_000 }

const fresh = Effect.fnUntraced(function* (...readings: ReadonlyArray<ChainSnapshot>) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`TRUNCATE relayers, signers, events CASCADE`
  yield* insertRelayers(1)
  answers(...readings)
  return { checks: yield* HealthChecks, relayers: yield* StoredRelayers, repo: yield* HealthRepo, id: idOf(1) }
})

/** The types of the events so far, with the reasons why the relayer is disabled. */
const events = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ type: string; reason: string | null }>`
    SELECT type, data #>> '{disabled_reason,type}' AS reason FROM events ORDER BY id`
})

const secondsAhead = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ seconds: number }>`
    SELECT round(extract(epoch FROM next_check_at - checked_at))::int4 AS seconds FROM relayer_checks`
  return row?.seconds ?? 0
})

layer(Layer.provideMerge(checks(chain.layer), TestDatabase.layer))("a check", (it) => {
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

  it.effect("whose claim another instance has taken over is discarded", () =>
    Effect.gen(function* () {
      const { checks, relayers, repo, id } = yield* fresh(wrong, well)
      const sql = yield* SqlClient.SqlClient
      const [claim] = yield* repo.claim(claiming)
      if (claim === undefined) return assert.fail("not claimed")
      yield* sql`UPDATE relayer_checks SET claimed_by = 'theirs'`
      yield* checks.run(claim)
      const check = Option.getOrThrow(yield* repo.find(id))
      assert.strictEqual(check.claimed_by, "theirs")
      assert.strictEqual(check.state.status, "unknown")
      assert.isFalse((yield* relayers.get(id)).value.system_disabled)
      assert.deepStrictEqual(yield* events, [])
    })
  )

  it.effect("during which the policies of the relayer change is discarded, and the next check is due at once", () =>
    Effect.gen(function* () {
      const { checks, relayers, repo, id } = yield* fresh()
      const inspecting = yield* Deferred.make<void>()
      const answer = yield* Deferred.make<ChainSnapshot>()
      let begun = 0
      const begin = Effect.suspend(() => (++begun === 2 ? Deferred.succeed(inspecting, undefined) : Effect.void))
      inspect = () => Effect.andThen(begin, Deferred.await(answer))
      const [claim] = yield* repo.claim(claiming)
      if (claim === undefined) return assert.fail("not claimed")
      const running = yield* Effect.forkChild(Effect.all([checks.run(claim), checks.now(id)], { concurrency: 2 }))
      yield* Deferred.await(inspecting)
      yield* relayers.update(id, { policies: { min_balance: 7 } })
      yield* Deferred.succeed(answer, wrong)
      yield* Fiber.join(running)
      assert.strictEqual(Option.getOrThrow(yield* repo.find(id)).state.status, "unknown")
      assert.isFalse((yield* relayers.get(id)).value.system_disabled)
      assert.strictEqual((yield* repo.claim(claiming)).length, 1)
    })
  )

  it.effect("that ends in a defect changes nothing and is due again later", () =>
    Effect.gen(function* () {
      const { checks, repo, id } = yield* fresh()
      inspect = () => Effect.die(new Error("a defect"))
      const [claim] = yield* repo.claim(claiming)
      if (claim === undefined) return assert.fail("not claimed")
      yield* checks.run(claim)
      const check = Option.getOrThrow(yield* repo.find(id))
      assert.isUndefined(check.claimed_by)
      assert.strictEqual(check.state.status, "unknown")
      assert.deepStrictEqual(yield* repo.claim(claiming), [])
    })
  )

  it.effect("that is interrupted releases its claim and is due at once", () =>
    Effect.gen(function* () {
      const { checks, repo } = yield* fresh()
      const inspecting = yield* Deferred.make<void>()
      inspect = () => Effect.andThen(Deferred.succeed(inspecting, undefined), Effect.never)
      const [claim] = yield* repo.claim(claiming)
      if (claim === undefined) return assert.fail("not claimed")
      const running = yield* Effect.forkChild(checks.run(claim))
      yield* Deferred.await(inspecting)
      assert.deepStrictEqual(yield* repo.claim(claiming), [])
      yield* Fiber.interrupt(running)
      assert.strictEqual((yield* repo.claim(claiming)).length, 1)
    })
  )

  it.effect("of a relayer that is deleted meanwhile changes nothing", () =>
    Effect.gen(function* () {
      const { checks, relayers, repo, id } = yield* fresh()
      const inspecting = yield* Deferred.make<void>()
      const answer = yield* Deferred.make<ChainSnapshot>()
      inspect = () => Effect.andThen(Deferred.succeed(inspecting, undefined), Deferred.await(answer))
      const [claim] = yield* repo.claim(claiming)
      if (claim === undefined) return assert.fail("not claimed")
      const running = yield* Effect.forkChild(checks.run(claim))
      yield* Deferred.await(inspecting)
      yield* relayers.delete(id)
      yield* Deferred.succeed(answer, wrong)
      yield* Fiber.join(running)
      assert.deepStrictEqual(
        (yield* events).map(({ type }) => type),
        ["relayer.deleted"]
      )
      assert.strictEqual((yield* Effect.flip(checks.now(id)))._tag, "RelayerNotFound")
    })
  )
})
