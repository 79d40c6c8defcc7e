// A ledger that was put back from a copy: what could have been executed since then waits for an operator.
import { PgClient } from "@effect/sql-pg"
import { assert, inject } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import * as HiddenIdentity from "../../../testkit/HiddenIdentity.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { clientConfig } from "../../../testkit/Postgres.ts"
import { account, insert } from "../../../testkit/LedgerRows.ts"
import { claimOne, ledger, process, signature } from "./Fixtures.ts"

/** Starts a process while the server refuses to name itself. `state`: the SQLSTATE of the refusal. */
const processRefused = Effect.fnUntraced(function* (state: string) {
  const sql = yield* SqlClient.SqlClient
  const [{ name } = assert.fail("no database")] = yield* sql<{ name: string }>`SELECT current_database() AS name`
  yield* HiddenIdentity.create(state)
  const startupParameters = { search_path: HiddenIdentity.searchPath }
  return yield* process().pipe(
    Effect.provide(PgClient.layer({ ...clientConfig(inject("postgres"), name), startupParameters })),
    Effect.exit
  )
})

const markOf = Effect.flatMap(SqlClient.SqlClient, (sql) => sql<{ mark: string }>`SELECT mark FROM ledger_mark`)

/** Whether each transaction waits for an operator. */
const restoredOf = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql<{ restored: boolean }>`SELECT restored FROM transactions ORDER BY number`, (rows) =>
    rows.map(({ restored }) => restored)
  )
)

layerEach(ledger)("a ledger that was put back from a copy", (it) => {
  it.effect("marks open requests, frees every lane, and lets no holder from before write", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [first, second] = yield* insert(account(1), 2)
      const { hold } = yield* claimOne
      const lanes = yield* LaneLedger
      const [pending] = (yield* lanes.read(hold)).pending
      if (pending === undefined || first === undefined || second === undefined) return assert.fail("no row")
      yield* lanes.commitSignatures(hold, [signature(pending, 0)])
      yield* sql`UPDATE ledger_mark SET mark = jsonb_set(mark::jsonb, '{system}', '"another"')::text`
      assert.strictEqual((yield* Effect.flip(lanes.read(hold)))._tag, "LaneLost")
      assert.deepStrictEqual(yield* lanes.renew([hold]), [])

      const next = yield* claimOne
      assert.isAbove(next.hold.epoch, hold.epoch)
      const { inFlight, pending: waiting } = yield* lanes.read(next.hold)
      assert.deepStrictEqual(
        [...inFlight, ...waiting].map(({ id, transaction }) => [id, transaction.restored]),
        [
          [first, true],
          [second, true]
        ]
      )
      assert.strictEqual((yield* Effect.flip(lanes.read(hold)))._tag, "LaneLost")
      const canceled = yield* (yield* Ledger).cancel(1, second)
      assert.deepInclude(canceled.transaction, { state: "pending", intent: "cancel" }, "its fate is not known")
      yield* sql`UPDATE transactions SET valid_until = to_timestamp(-1)`
      assert.deepStrictEqual(yield* lanes.expire(next.hold), [])
    })
  )

  it.effect("notes when a copy was noticed, so that top-ups of the time since then count as used", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const restoredAt = Effect.map(
        sql<{ at: Date | null }>`SELECT restored_at AS at FROM ledger_mark`,
        ([row]) => row?.at
      )
      yield* insert(account(1), 1)
      yield* claimOne
      yield* sql`UPDATE ledger_mark SET restored_at = NULL`
      yield* sql`UPDATE lanes SET holder = NULL, held_until = NULL`
      yield* claimOne
      assert.isNull(yield* restoredAt)
      yield* sql`UPDATE lanes SET holder = NULL, held_until = NULL`
      yield* sql`UPDATE ledger_mark SET mark = jsonb_set(mark::jsonb, '{system}', '"another"')::text`
      yield* claimOne
      assert.isNotNull(yield* restoredAt)
      // A restore of a backup leaves no mark.
      yield* sql`UPDATE lanes SET holder = NULL, held_until = NULL`
      yield* sql`DELETE FROM ledger_mark`
      yield* claimOne
      assert.isNotNull(yield* restoredAt)
    })
  )

  it.effect(
    "is no copy if a newer version has changed the schema: the older one claims, renews and writes nothing",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* insert(account(1), 1)
        const { hold } = yield* claimOne
        const lanes = yield* LaneLedger
        yield* sql`UPDATE schema_mark SET oldest = 999`
        assert.deepStrictEqual(yield* lanes.renew([hold]), [])
        assert.strictEqual((yield* Effect.flip(lanes.read(hold)))._tag, "LaneLost")
        yield* sql`UPDATE lanes SET holder = NULL, held_until = NULL`
        assert.deepStrictEqual(yield* lanes.claim(["evm"], 10), [])
        assert.deepStrictEqual(yield* restoredOf, [false])
      })
  )

  it.effect("is noticed by a cancel, which ends nothing, before any lane is claimed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [id = assert.fail("no row")] = yield* insert(account(1), 1)
      yield* sql`DELETE FROM ledger_mark`
      const canceled = yield* (yield* Ledger).cancel(1, id)
      assert.deepInclude(canceled.transaction, { state: "pending", intent: "cancel", restored: true })
    })
  )

  it.effect("is noticed without a mark, and not again by the next process", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* insert(account(1), 1)
      yield* sql`DELETE FROM ledger_mark`
      yield* process()
      assert.deepStrictEqual(yield* restoredOf, [true])
      yield* insert(account(1), 1)
      yield* process()
      assert.deepStrictEqual(yield* restoredOf, [true, false])
    })
  )

  it.effect("is not assumed after a failover to a synchronous replica", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* insert(account(1), 1)
      const promote = sql`UPDATE ledger_mark SET mark = jsonb_set(mark::jsonb, '{timeline}', '"000000FF"')::text`
      yield* promote
      yield* process({ failover: "synchronous" })
      assert.deepStrictEqual(yield* restoredOf, [false])
      yield* process()
      assert.deepStrictEqual(yield* restoredOf, [false], "the new timeline was stored")
      yield* promote
      yield* process()
      assert.deepStrictEqual(yield* restoredOf, [true])
    })
  )

  it.effect(
    "is not assumed when a process starts while the server is busy: the process stops, and the mark stays",
    () =>
      Effect.gen(function* () {
        yield* insert(account(1), 1)
        const before = yield* markOf
        const exit = yield* processRefused("53300")
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        assert.deepStrictEqual(yield* markOf, before)
        yield* process()
        assert.deepStrictEqual(yield* restoredOf, [false])
      })
  )

  it.effect("is not assumed when a user of the server may not read its identity, and another one may", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* insert(account(1), 1)
      const before = yield* markOf
      assert.isTrue(Exit.isSuccess(yield* processRefused("42501")))
      assert.deepStrictEqual(yield* markOf, before, "what is hidden from one user stays")
      yield* sql`UPDATE ledger_mark SET mark = (mark::jsonb - 'system')::text`
      yield* process()
      assert.deepStrictEqual(yield* restoredOf, [false], "what was hidden from all is not another identity")
      assert.deepStrictEqual(yield* markOf, before, "from now on it is compared")
    })
  )
})
