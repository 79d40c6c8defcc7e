// Rotations of the master key during concurrent writes and rotations. They wait for rows by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { MasterKeys } from "../../../src/server/masterKey/MasterKeys.ts"
import { Secrets } from "../../../src/server/secrets/Secrets.ts"
import { sharedTurn } from "../../../src/sql/Transaction.ts"
import { until } from "../../../testkit/process/Folder.ts"
import {
  addSigners,
  ids,
  inMemory,
  keyIdOf,
  keys,
  markedKeys,
  masterKey,
  openSigners,
  ownSecrets,
  rotate,
  seal,
  secretsOf,
  signerPlace,
  tested,
  updateSigner,
  withStart
} from "./Start.ts"

/** Opens a transaction that runs `self`, and stays open until `end`; the exit of the whole is `result`. */
const openTransaction = Effect.fnUntraced(function* <A, E, R>(self: Effect.Effect<A, E, R>) {
  const sql = yield* SqlClient.SqlClient
  const begun = yield* Deferred.make<void>()
  const end = yield* Deferred.make<void>()
  const fiber = yield* self.pipe(
    Effect.tap(() => Deferred.succeed(begun, undefined)),
    Effect.tap(() => Deferred.await(end)),
    sql.withTransaction,
    Effect.forkScoped
  )
  yield* Effect.raceFirst(Deferred.await(begun), Fiber.join(fiber))
  return { commit: Effect.andThen(Deferred.succeed(end, undefined), Fiber.join(fiber)) }
})

/** Of signers, those whose secret is not under `byte` yet. */
const behind = Effect.fnUntraced(function* (byte: number) {
  const sql = yield* SqlClient.SqlClient
  const header = `03${keyIdOf(masterKey(byte))}`
  const rows = yield* sql<{ id: string }>`
    SELECT id FROM signers WHERE encode(substring(key_sealed FROM 1 FOR 5), 'hex') <> ${header} ORDER BY id`
  return rows.map(({ id }) => id)
})

/** Waits until only these are not under `byte`. */
const untilBehind = (byte: number, ...ids: ReadonlyArray<string>) =>
  until(
    `all but ${ids.join(", ")} to be re-wrapped`,
    Effect.map(Effect.orDie(behind(byte)), (left) => left.join() === ids.join() || undefined)
  )

const openOne = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const [row] = yield* sql<{ key_sealed: Uint8Array }>`SELECT key_sealed FROM signers WHERE id = ${id}`
  const secret = Option.fromUndefinedOr(row)
  return Redacted.value(yield* secrets.open(Option.getOrThrow(secret).key_sealed, signerPlace(id)))
})

/**
 * Transactions share the lock of a relayer as acceptances do, until the fiber that `begin` starts ends. Each ends when the next one has the lock or waits for its turn, so
 * that the row is never free for somebody who does not wait for a turn.
 */
const shareWithoutPause = Effect.fnUntraced(function* <A, E, R>(
  relayer: string,
  begin: Effect.Effect<Fiber.Fiber<A, E>, never, R>
) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ seq: number }>`SELECT seq::float8 AS seq FROM relayers WHERE id = ${relayer}`
  const number = sql`${row?.seq ?? assert.fail("no relayer")}::bigint`
  const share = sql`
    WITH turn AS MATERIALIZED (SELECT ${sharedTurn(sql, number)})
    SELECT 1 FROM turn CROSS JOIN relayers r WHERE r.seq = ${number} FOR SHARE OF r`
  const waits = sql`
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
  let last = yield* openTransaction(share)
  const fiber = yield* begin
  while (fiber.pollUnsafe() === undefined) {
    const next = yield* Effect.forkScoped(openTransaction(share))
    yield* until(
      "the next transaction to share the row or to wait for its turn",
      Effect.map(Effect.orDie(waits), (rows) => rows.length > 0 || next.pollUnsafe() !== undefined || undefined)
    )
    yield* last.commit
    last = yield* Fiber.join(next)
  }
  yield* last.commit
  return yield* Fiber.join(fiber)
})

describe("a rotation during other work", () => {
  it.live("neither blocks concurrent writes nor loses them", () =>
    Effect.gen(function* () {
      const all = ids(800)
      const { kept, store } = yield* inMemory
      const writers = 4
      const written = new Map<string, string>(Object.entries(secretsOf(...all)))
      yield* Effect.gen(function* () {
        yield* addSigners(...all)
        const done = yield* Deferred.make<void>()
        const writer = Effect.fnUntraced(function* (index: number) {
          for (let count = 0; !(yield* Deferred.isDone(done)); count++) {
            // Each writer has rows of its own, so that it knows what it has written last.
            const updated = `s${(count * writers + index) % all.length}`
            yield* updateSigner(updated, `${index}-${count}`)
            written.set(updated, `${index}-${count}`)
            yield* addSigners(`new-${index}-${count}`)
            written.set(`new-${index}-${count}`, `secret of new-${index}-${count}`)
            assert.strictEqual(yield* openOne(updated), `${index}-${count}`)
          }
        })
        const fibers = yield* Effect.forEach(ids(writers), (_, index) => Effect.forkScoped(writer(index)))
        yield* until(
          "writers that write",
          Effect.sync(() => written.size >= all.length + writers || undefined)
        )
        const before = written.size
        const first = yield* rotate
        assert.isAbove(first.rewrapped, 0)
        assert.isAbove(written.size, before)
        assert.notStrictEqual((yield* rotate).key_id, first.key_id)
        yield* Deferred.succeed(done, undefined)
        yield* Effect.forEach(fibers, Fiber.join)
      }).pipe(withStart(keys(1), store))

      const [current, ...rest] = yield* kept
      assert.isEmpty(rest)
      const opened = yield* withStart({ current: current ?? masterKey(1) })(openSigners)
      assert.deepStrictEqual(opened, Object.fromEntries([...written].toSorted()))
    }).pipe(Effect.scoped, tested)
  )

  it.live("skips a locked value and re-wraps its new version", () =>
    Effect.gen(function* () {
      yield* withStart(keys(1))(addSigners("a", "b", "c"))
      const old = yield* openTransaction(updateSigner("b", "changed")).pipe(withStart(keys(1, 2)))
      yield* Effect.gen(function* () {
        const rotation = yield* Effect.forkScoped(rotate)
        yield* untilBehind(2, "b")
        yield* old.commit
        assert.deepStrictEqual(yield* Fiber.join(rotation), {
          key_id: keyIdOf(masterKey(2)),
          rewrapped: 3 + ownSecrets
        })
      }).pipe(withStart(keys(2, 1)))
      const opened = yield* withStart(keys(2))(openSigners)
      assert.deepStrictEqual(opened, { ...secretsOf("a", "c"), b: "changed" })
    }).pipe(Effect.scoped, tested)
  )

  it.live("waits for uncommitted values that were sealed before it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* withStart(keys(1))(addSigners("a"))
      const late = yield* openTransaction(addSigners("late")).pipe(withStart(keys(1)))
      yield* Effect.gen(function* () {
        const rotation = yield* Effect.forkScoped(rotate)
        yield* until(
          "the rotation to wait",
          sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`.pipe(
            Effect.orDie,
            Effect.map((waiting) => waiting.length > 0 || undefined)
          )
        )
        assert.deepStrictEqual(yield* markedKeys, [1, 2])
        yield* late.commit
        assert.deepStrictEqual(yield* Fiber.join(rotation), {
          key_id: keyIdOf(masterKey(2)),
          rewrapped: 2 + ownSecrets
        })
      }).pipe(withStart(keys(2, 1)))
      assert.deepStrictEqual(yield* withStart(keys(2))(openSigners), secretsOf("a", "late"))
    }).pipe(Effect.scoped, tested)
  )

  it.live("that is interrupted leaves every value readable, and the next one completes it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const all = ids(600)
      // More than fit in a batch, and what comes before the rest.
      const locked = all.toSorted().slice(0, 550)
      yield* withStart(keys(1))(addSigners(...all))
      const held = yield* openTransaction(sql`SELECT 1 FROM signers WHERE id IN ${sql.in(locked)} FOR UPDATE`)
      yield* Effect.gen(function* () {
        const rotation = yield* Effect.forkScoped(rotate)
        yield* untilBehind(2, ...locked)
        yield* Fiber.interrupt(rotation)
        assert.deepStrictEqual(yield* openSigners, secretsOf(...all))
      }).pipe(withStart(keys(2, 1)))
      yield* held.commit
      assert.deepStrictEqual(yield* markedKeys, [1, 2])

      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* openSigners, secretsOf(...all))
        // The interrupted one may have re-wrapped what comes after the signers.
        const { rewrapped } = yield* rotate
        assert.isAtLeast(rewrapped, locked.length)
        assert.isAtMost(rewrapped, locked.length + ownSecrets)
      }).pipe(withStart(keys(2, 1)))
      assert.deepStrictEqual(yield* withStart(keys(2))(openSigners), secretsOf(...all))
    }).pipe(Effect.scoped, tested)
  )

  it.live("runs once at a time in all instances, and a second one is refused", () =>
    Effect.gen(function* () {
      yield* withStart(keys(1))(addSigners("a", "b"))
      const held = yield* openTransaction(updateSigner("b", "secret of b")).pipe(withStart(keys(1, 2)))
      yield* Effect.gen(function* () {
        const rotation = yield* Effect.forkScoped(rotate)
        yield* untilBehind(2, "b")
        const { rotate: again } = yield* MasterKeys
        assert.strictEqual((yield* Effect.flip(again))._tag, "RotationRunning")
        const elsewhere = yield* Effect.flip(withStart(keys(1, 2))(rotate))
        assert.strictEqual(elsewhere._tag, "RotationRunning")
        yield* held.commit
        yield* Fiber.join(rotation)
        assert.strictEqual((yield* again).rewrapped, 0)
      }).pipe(withStart(keys(2, 1)))
      assert.deepStrictEqual(yield* withStart(keys(2, 1))(openSigners), secretsOf("a", "b"))
    }).pipe(Effect.scoped, tested)
  )

  it.live("gets the turn of a relayer whose row is never free", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Effect.gen(function* () {
        yield* addSigners("a")
        const sealed = yield* seal("urls", { table: "relayers", id: "busy", column: "custom_rpc_urls" })
        yield* sql`
          INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id, custom_rpc_urls_sealed)
          VALUES ('busy', 'busy', 'evm', 'x', 'x', false, 'a', ${sealed})`
      }).pipe(withStart(keys(1)))
      yield* Effect.gen(function* () {
        const rotation = yield* shareWithoutPause("busy", Effect.forkScoped(rotate))
        assert.deepStrictEqual(rotation, { key_id: keyIdOf(masterKey(2)), rewrapped: 2 + ownSecrets })
      }).pipe(withStart(keys(2, 1)))
    }).pipe(Effect.scoped, tested)
  )
})
