// Claims of checks are exclusive, end with their lease, and cannot be released by an earlier claim.
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as Health from "../../../src/domain/health/Health.ts"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import * as HealthRepo from "../../../src/server/health/HealthRepo.ts"
import { makeBalancesRepo } from "../../../src/server/health/HealthRepo.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"
import { idOf, insertRelayers, well } from "./fixtures.ts"

const claiming = { limit: 1000, lease: 60_000, horizon: 120_000, unserved: [] }

/** Moves all checks as if this many seconds had passed. */
const pass = (seconds: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`UPDATE relayer_checks SET next_check_at = next_check_at - ${seconds}::int * interval '1 second'`
  )

const healthy: Health.Health = { status: "healthy", alerted_degraded: false, alerted_low: false }
const found = { health: healthy, reading: well, isRead: true, delay: 60_000 }

const fresh = (count: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`TRUNCATE relayers, signers CASCADE`
    yield* insertRelayers(count)
    return yield* HealthRepo.make
  })

layer(TestDatabase.layer)("checks in the database", (it) => {
  it.effect("are due as soon as the relayer is created, with the status unknown", () =>
    Effect.gen(function* () {
      const repo = yield* fresh(1)
      const check = Option.getOrThrow(yield* repo.find(idOf(1)))
      assert.deepStrictEqual(check.state, Health.unknown)
      assert.hasAllKeys(check, ["state", "next_check_at"])
      assert.deepStrictEqual(yield* repo.claim({ ...claiming, token: "a" }), [{ id: idOf(1), token: "a" }])
      assert.isTrue(Option.isNone(yield* repo.find(RelayerId.make("nobody"))))
    })
  )

  it.effect("are each claimed once by concurrent claims, and none is left out", () =>
    Effect.gen(function* () {
      const repo = yield* fresh(300)
      const claims = yield* Effect.forEach(
        Array.from({ length: 24 }, (_, index) => index),
        (index) => repo.claim({ ...claiming, limit: 20, token: `t${index}` }),
        { concurrency: "unbounded" }
      )
      const ids = claims.flat().map(({ id }) => id)
      assert.strictEqual(new Set(ids).size, ids.length)
      const rest = yield* repo.claim({ ...claiming, token: "rest" })
      assert.strictEqual(ids.length + rest.length, 300)
      assert.deepStrictEqual(yield* repo.claim({ ...claiming, token: "late" }), [])
    })
  )

  it.effect("whose row is locked are skipped without waiting", () =>
    Effect.gen(function* () {
      const repo = yield* fresh(2)
      const sql = yield* SqlClient.SqlClient
      const held = yield* Deferred.make<void>()
      const done = yield* Deferred.make<void>()
      const holder = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.andThen(
            repo.findForUpdate(idOf(1)),
            Effect.andThen(Deferred.succeed(held, undefined), Deferred.await(done))
          )
        )
      )
      yield* Deferred.await(held)
      assert.deepStrictEqual(yield* repo.claim({ ...claiming, token: "b" }), [{ id: idOf(2), token: "b" }])
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(holder)
      assert.deepStrictEqual(yield* repo.claim({ ...claiming, token: "b" }), [{ id: idOf(1), token: "b" }])
    })
  )

  it.effect("can be claimed again after the lease, and then the earlier claim cannot release them", () =>
    Effect.gen(function* () {
      const repo = yield* fresh(1)
      const [mine] = yield* repo.claim({ ...claiming, token: "mine" })
      yield* pass(59)
      assert.deepStrictEqual(yield* repo.claim({ ...claiming, token: "early" }), [])
      yield* pass(2)
      assert.strictEqual((yield* repo.claim({ ...claiming, token: "theirs" })).length, 1)
      if (mine === undefined) return assert.fail("not claimed")
      yield* repo.release(mine, 0)
      assert.deepStrictEqual(yield* repo.claim({ ...claiming, token: "again" }), [])
      assert.strictEqual(Option.getOrThrow(yield* repo.find(idOf(1))).claimed_by, "theirs")
    })
  )

  it.effect("that are released are due after the given delay", () =>
    Effect.gen(function* () {
      const repo = yield* fresh(2)
      const [one, other] = yield* repo.claim({ ...claiming, token: "a" })
      if (one === undefined || other === undefined) return assert.fail("not claimed")
      yield* repo.release(one, 0)
      yield* repo.release(other, 30_000)
      assert.deepStrictEqual(yield* repo.claim({ ...claiming, token: "b" }), [{ id: one.id, token: "b" }])
      yield* pass(31)
      assert.deepStrictEqual(yield* repo.claim({ ...claiming, token: "c" }), [{ id: other.id, token: "c" }])
    })
  )

  /** Moves the moments of the check into the past: two saves can happen in the same millisecond. */
  const earlier = Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`UPDATE relayer_checks SET checked_at = checked_at - interval '1 second',
      since = since - interval '1 second', read_at = read_at - interval '1 second'`
  )

  it.effect("keep every digit of a balance, and the time since when the status holds", () =>
    Effect.gen(function* () {
      const repo = yield* fresh(1)
      const reading = { ...well, balance: 2n ** 128n - 1n }
      yield* repo.save(idOf(1), { ...found, reading })
      yield* earlier
      const first = Option.getOrThrow(yield* repo.find(idOf(1)))
      assert.deepStrictEqual(first.reading, reading)
      assert.deepStrictEqual(first.state, healthy)
      assert.isDefined(first.read_at)
      yield* repo.save(idOf(1), { ...found, isRead: false })
      const second = Option.getOrThrow(yield* repo.find(idOf(1)))
      assert.deepStrictEqual(second.since, first.since)
      assert.deepStrictEqual(second.read_at, first.read_at)
      assert.notDeepEqual(second.checked_at, first.checked_at)
      yield* repo.save(idOf(1), { ...found, health: { ...healthy, status: "degraded" } })
      const third = Option.getOrThrow(yield* repo.find(idOf(1)))
      assert.notDeepEqual(third.since, first.since)
    })
  )

  it.effect("keep the balance of each hour in which it changed, for 30 days and at least the newest", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* fresh(1)
      const balances = yield* makeBalancesRepo
      /** A time after the times of all rows. */
      const later = 4_000_000_000_000
      const since = Effect.map(balances.since(idOf(1), 0), (rows) => rows.map(({ balance }) => balance))
      const read = (balance: bigint) => repo.save(idOf(1), { ...found, reading: { ...well, balance } })
      const anHourPasses = sql`UPDATE relayer_balances SET at = at - interval '1 hour'`
      yield* read(2n ** 128n - 1n)
      yield* read(5n)
      assert.deepStrictEqual(yield* since, [5n])
      yield* anHourPasses
      yield* read(5n)
      yield* repo.save(idOf(1), { ...found, reading: { ...well, balance: 4n }, isRead: false })
      assert.deepStrictEqual(yield* since, [5n], "an hour without a change has no row")
      yield* read(3n)
      assert.deepStrictEqual(yield* since, [5n, 3n])
      assert.deepStrictEqual(
        (yield* balances.since(idOf(1), later)).map(({ balance }) => balance),
        [3n],
        "what it was at the first moment"
      )
      yield* sql`UPDATE relayer_balances SET at = at - interval '31 days'`
      assert.strictEqual(yield* balances.prune(10), 1)
      assert.deepStrictEqual(yield* since, [3n])
    })
  )

  it.effect("that are far in the future because the clock was set back are due", () =>
    Effect.gen(function* () {
      const repo = yield* fresh(2)
      yield* repo.claim({ ...claiming, token: "a" })
      yield* pass(-3600)
      assert.strictEqual((yield* repo.claim({ ...claiming, token: "b" })).length, 2)
    })
  )

  it.effect(
    "become due and lose their claim if policies or URLs change, but not if the name or the master key changes",
    () =>
      Effect.gen(function* () {
        const repo = yield* fresh(4)
        const sql = yield* SqlClient.SqlClient
        yield* repo.claim({ ...claiming, token: "a" })
        yield* sql`UPDATE relayers SET policies = '{"min_balance": 2}', version = version + 1 WHERE id = 'r1'`
        yield* sql`UPDATE relayers SET name = 'other', version = version + 1 WHERE id = 'r2'`
        yield* sql`UPDATE relayers SET policies = policies, system_disabled = true, version = version + 1 WHERE id = 'r3'`
        yield* sql`UPDATE relayers SET policies = '{"min_balance": 2}' WHERE id = 'r4'`
        assert.deepStrictEqual(yield* repo.claim({ ...claiming, token: "b" }), [{ id: idOf(1), token: "b" }])
      })
  )

  it.effect("are deleted with their relayer", () =>
    Effect.gen(function* () {
      const repo = yield* fresh(1)
      const sql = yield* SqlClient.SqlClient
      yield* sql`DELETE FROM relayers WHERE id = 'r1'`
      assert.isTrue(Option.isNone(yield* repo.find(idOf(1))))
      yield* repo.save(idOf(1), found)
      assert.deepStrictEqual(yield* repo.claim({ ...claiming, token: "a" }), [])
    })
  )
})
