// Writes whose rows change after they were read and before they are locked, and the order in which readers of events see them.
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option } from "effect"
import { SqlClient } from "effect/sql"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import type { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import { laneOf, noncesOf } from "../../../src/networks/evm/rules/Evm.ts"
import { makeFeeLimits } from "../../../src/server/ledger/AcceptanceChecks.ts"
import * as LanesRepo from "../../../src/server/ledger/LanesRepo.ts"
import type { Account, StoredLane } from "../../../src/server/ledger/LedgerEntries.ts"
import { makeNewTransactions } from "../../../src/server/ledger/TransactionsRepo.ts"
import type { Acceptance } from "../../../src/server/ledger/TransactionsRepo.ts"
import { exclusiveTurn } from "../../../src/sql/Transaction.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { account, insert, newTransaction } from "../../../testkit/LedgerRows.ts"
import { claimOne, ledger, sentOf, signAll } from "./Fixtures.ts"

/** Until so many statements wait for locks: they wait until the test ends what they wait for. */
const untilWaiting = (count: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    awaited(
      sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      (rows) => rows.length >= count
    )
  )

/** Runs statements in a transaction of its own. The result commits it. */
const open = Effect.fnUntraced(function* <E>(statements: Effect.Effect<unknown, E, SqlClient.SqlClient>) {
  const sql = yield* SqlClient.SqlClient
  const begun = yield* Deferred.make<void>()
  const ended = yield* Deferred.make<void>()
  const fiber = yield* Effect.forkScoped(
    sql.withTransaction(
      statements.pipe(Effect.andThen(Deferred.succeed(begun, undefined)), Effect.andThen(Deferred.await(ended)))
    )
  )
  yield* Deferred.await(begun)
  return Effect.andThen(Deferred.succeed(ended, undefined), Fiber.join(fiber))
})

const statement = (text: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(SqlClient.SqlClient, text)

const openRow = (id: TransactionId) =>
  open(statement((sql) => sql`SELECT 1 FROM transactions WHERE id = ${id}::uuid FOR UPDATE`))

const acceptanceOf = (of: Account): Acceptance => ({
  account: of,
  transaction: newTransaction(0),
  bodyHash: "hash",
  origin: { keyId: "key", requestId: null, clientAddress: null },
  trace: undefined,
  now: 0
})

/** As a change of a relayer locks its row when it has to wait. */
const pause = (number: number) =>
  statement((sql) =>
    sql`SELECT ${exclusiveTurn(sql, sql`${number}::bigint`)}`.pipe(
      Effect.andThen(sql`SELECT 1 FROM relayers WHERE seq = ${number} FOR UPDATE`),
      Effect.andThen(sql`UPDATE relayers SET paused = true, version = version + 1 WHERE seq = ${number}`)
    )
  )

layerEach(ledger)("an acceptance", (it) => {
  it.effect("is left out if its relayer was paused between the snapshot and the lock of its statement", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        CREATE FUNCTION wait_after_snapshot() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_advisory_xact_lock_shared(40); RETURN NULL; END $$`
      // A trigger of the statement runs before its rows are read.
      yield* sql`
        CREATE TRIGGER wait_after_snapshot BEFORE INSERT ON transactions
        FOR EACH STATEMENT EXECUTE FUNCTION wait_after_snapshot()`
      const repo = yield* makeNewTransactions
      for (const waits of [false, true]) {
        const of = account(waits ? 2 : 1)
        yield* insert(of, 1)
        const end = yield* open(sql`SELECT pg_advisory_xact_lock(40)`)
        const accepting = yield* Effect.forkScoped(repo.insert([acceptanceOf(of)], waits))
        yield* untilWaiting(1)
        // PostgreSQL takes an update after `FOR UPDATE`, as the service pauses, for a change of the key. This one is none.
        yield* sql`UPDATE relayers SET paused = true WHERE seq = ${of.relayerNumber}`
        yield* end
        assert.deepStrictEqual(yield* Fiber.join(accepting), [])
      }
    })
  )

  it.effect("that comes after a pause which waits for the relayer is refused, in a batch or alone", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accept } = yield* Ledger
      const { holdRelayer } = yield* makeNewTransactions
      const endFormer = yield* open(holdRelayer(1))
      const pausing = yield* Effect.forkScoped(sql.withTransaction(pause(1)))
      yield* untilWaiting(1)
      // The row is shared at this moment. Without its turn, the pause would wait until all acceptances have ended.
      const batched = yield* Effect.forkScoped(Effect.flip(accept(account(1), [newTransaction(0)])))
      const alone = yield* Effect.forkScoped(Effect.flip(accept(account(1), [newTransaction(0), newTransaction(0)])))
      // An acceptance that does not wait has ended.
      yield* Effect.raceAllFirst([untilWaiting(3), Fiber.await(batched), Fiber.await(alone)])
      yield* endFormer
      yield* Fiber.join(pausing)
      assert.strictEqual((yield* Fiber.join(batched))._tag, "RelayerPaused")
      assert.strictEqual((yield* Fiber.join(alone))._tag, "RelayerPaused")
    })
  )

  it.effect("keeps its relayer as it is until its transaction ends", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { holdRelayer } = yield* makeNewTransactions
      yield* insert(account(1), 1)
      // As an update locks the row that changes no key.
      const free = sql`SELECT 1 FROM relayers WHERE seq = 1 FOR NO KEY UPDATE SKIP LOCKED`
      const end = yield* open(holdRelayer(1))
      assert.lengthOf(yield* free, 0)
      yield* end
      assert.lengthOf(yield* free, 1)
    })
  )

  it.effect("in a batch takes the turns of its own relayers only, however PostgreSQL reads the table", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* makeNewTransactions
      for (const number of [1, 2, 3]) yield* insert(account(number), 1)
      const turns = Effect.gen(function* () {
        yield* sql`SET LOCAL enable_indexscan = off`
        yield* sql`SET LOCAL enable_bitmapscan = off`
        yield* sql`SET LOCAL enable_nestloop = off`
        assert.lengthOf(yield* repo.insert([acceptanceOf(account(1)), acceptanceOf(account(2))], false), 2)
        return yield* sql`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`
      })
      assert.lengthOf(yield* sql.withTransaction(turns), 2)
    })
  )

  it.effect("that waits for a change of its limit of fees keeps the new limit and locks it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { spend } = yield* makeFeeLimits
      const setLimit = (maximum: number) =>
        Effect.andThen(
          sql`DELETE FROM api_key_fee_limits WHERE key_id = 'key'`,
          sql`INSERT INTO api_key_fee_limits (key_id, network_type, maximum) VALUES ('key', 'evm', ${maximum}::int)`
        )
      const spending = (more: bigint) => spend([{ keyId: "key", networkType: "evm", maximum: 10n, more }], 0)
      yield* setLimit(10)
      const endLower = yield* open(setLimit(5))
      const refused = yield* Effect.forkScoped(Effect.flip(sql.withTransaction(spending(6n))))
      yield* untilWaiting(1)
      yield* endLower
      assert.deepInclude(yield* Fiber.join(refused), { _tag: "FeeLimitExceeded", limit: 5n })

      const endHigher = yield* open(setLimit(7))
      const accepting = yield* Effect.forkScoped(open(spending(6n)))
      yield* untilWaiting(1)
      yield* endHigher
      const endAccepting = yield* Fiber.join(accepting)
      const free = sql`SELECT 1 FROM api_key_fee_limits WHERE key_id = 'key' FOR UPDATE SKIP LOCKED`
      assert.lengthOf(yield* free, 0)
      yield* endAccepting
      assert.lengthOf(yield* free, 1)
    })
  )
})

/** What a step saves that has found nothing new. */
const stateOf = (read: StoredLane) => ({
  chain: read.chain,
  read,
  lane: laneOf(noncesOf(read.lane)),
  usedTrust: false,
  nextPollAt: read.nextPollAt + 1
})

/** A held lane with another account, whose next sequence is 7. */
const claimWithChannel = Effect.gen(function* () {
  const lanes = yield* LaneLedger
  const of = { ...account(1), chain: "paper:1", address: "own" }
  yield* insert(of, 1, { request: {} })
  const [held] = yield* lanes.claim(["paper"], 1)
  if (held === undefined) return assert.fail("the lane is not free")
  const { hold, stored } = held
  const channel = { address: "channel", nextSequence: 7n, chainSequence: 7n, settledSequence: 7n }
  const { accounts, ...lane } = stored.lane
  yield* lanes.saveLane(hold, {
    chain: of.chain,
    read: stored,
    lane: { ...lane, accounts: [accounts[0], channel] },
    usedTrust: false,
    nextPollAt: stored.nextPollAt
  })
  return { hold, channel, read: (yield* lanes.read(hold)).stored }
})

/** As a commit gives away a sequence of the other account. */
const moveChannel = statement((sql) =>
  Effect.andThen(
    sql`SELECT 1 FROM lanes WHERE address = 'own' FOR NO KEY UPDATE`,
    sql`UPDATE lanes SET next_nonce = 8 WHERE address = 'channel'`
  )
)

layerEach(ledger)("a save of a lane", (it) => {
  it.effect("that runs after a later commit is refused, and the next nonce stays", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lanes = yield* LaneLedger
      yield* insert(account(1), 2)
      const { hold } = yield* claimOne
      const { stored } = yield* lanes.read(hold)
      const endCommit = yield* open(sql`UPDATE lanes SET next_nonce = next_nonce + 2`)
      const late = yield* Effect.forkScoped(Effect.flip(lanes.saveLane(hold, stateOf(stored))))
      yield* untilWaiting(1)
      yield* endCommit
      assert.strictEqual((yield* Fiber.join(late))._tag, "LaneChanged")
      assert.strictEqual(noncesOf((yield* lanes.read(hold)).stored.lane).nextNonce, 2)
    })
  )

  it.effect("that runs after a later save is refused, and what that one has found stays", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      yield* insert(account(1), 1)
      const { hold } = yield* claimOne
      const { stored } = yield* lanes.read(hold)
      const found = laneOf({ ...noncesOf(stored.lane), windowSize: 3 })
      yield* lanes.saveLane(hold, { ...stateOf(stored), lane: found, code: "chain_changed" })
      assert.strictEqual((yield* Effect.flip(lanes.saveLane(hold, stateOf(stored))))._tag, "LaneChanged")
      const { stored: after } = yield* lanes.read(hold)
      assert.deepStrictEqual([after.lane, after.code], [found, "chain_changed"])
    })
  )

  it.effect("that runs after a channel has moved on is refused as a whole", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      const { hold, read, channel } = yield* claimWithChannel
      const endCommit = yield* open(moveChannel)
      const late = yield* Effect.forkScoped(
        Effect.flip(
          lanes.saveLane(hold, {
            chain: read.chain,
            read,
            lane: { ...read.lane, windowSize: 5 },
            usedTrust: false,
            nextPollAt: 1
          })
        )
      )
      yield* untilWaiting(1)
      yield* endCommit
      assert.strictEqual((yield* Fiber.join(late))._tag, "LaneChanged")
      const { stored: after } = yield* lanes.read(hold)
      assert.deepStrictEqual(after.lane, {
        ...read.lane,
        accounts: [read.lane.accounts[0], { ...channel, nextSequence: 8n }]
      })
    })
  )
})

layerEach(ledger)("a lane that an operator's command has waited for", (it) => {
  it.effect("is read with its channels as they are after the wait", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* LanesRepo.make
      const { hold } = yield* claimWithChannel
      const endCommit = yield* open(moveChannel)
      const locking = yield* Effect.forkScoped(
        sql.withTransaction(repo.findLocked({ chain: "paper:1", address: "own" }))
      )
      yield* untilWaiting(1)
      yield* endCommit
      const found = Option.getOrThrow(yield* Fiber.join(locking))
      assert.deepStrictEqual([found.id, found.lane.accounts[1]?.nextSequence], [hold.laneId, 8n])
    })
  )
})

/** Types of events about a transaction, in the order in which readers get them. */
const feedOf = Effect.fnUntraced(function* (id: TransactionId) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly type: string }>`SELECT type FROM events WHERE resource_id = ${id} ORDER BY xid, id`
  return rows.map(({ type }) => type)
})

/** A held lane with three signed transactions. */
const threeSigned = Effect.gen(function* () {
  yield* insert(account(1), 3)
  const { hold } = yield* claimOne
  const [first, second, third] = yield* signAll(hold)
  if (first === undefined || second === undefined || third === undefined) return assert.fail("not signed")
  return { hold, lanes: yield* LaneLedger, callers: yield* Ledger, first, second, third }
})

layerEach(ledger)("readers of events see the changes of a transaction in their order", (it) => {
  it.effect("if a record of sends waits for another row, and a caller cancels it meanwhile", () =>
    Effect.gen(function* () {
      const { hold, lanes, callers, first, second } = yield* threeSigned
      const end = yield* openRow(first.id)
      const recording = yield* Effect.forkScoped(lanes.recordSends(hold, [sentOf(first, true), sentOf(second, true)]))
      yield* untilWaiting(1)
      yield* callers.cancel(1, second.id)
      yield* end
      assert.lengthOf(yield* Fiber.join(recording), 2)
      assert.deepStrictEqual(yield* feedOf(second.id), [
        "transaction.signed",
        "transaction.held",
        "transaction.submitted"
      ])
    })
  )

  it.effect("if a cancel of many waits for another row, and its send is recorded meanwhile", () =>
    Effect.gen(function* () {
      const { hold, lanes, callers, first, second, third } = yield* threeSigned
      const end = yield* openRow(second.id)
      const canceling = yield* Effect.forkScoped(callers.cancelMany(1, [first.id, second.id, third.id]))
      yield* untilWaiting(1)
      yield* lanes.recordSends(hold, [sentOf(third, true)])
      yield* end
      assert.lengthOf(yield* Fiber.join(canceling), 3)
      assert.deepStrictEqual(yield* feedOf(third.id), [
        "transaction.signed",
        "transaction.submitted",
        "transaction.held"
      ])
    })
  )

  it.effect("if a new generation waits for another row, and a caller cancels it meanwhile", () =>
    Effect.gen(function* () {
      const { callers, first, second } = yield* threeSigned
      const end = yield* openRow(first.id)
      const beginning = yield* Effect.forkScoped(callers.beginGeneration(account(1)))
      yield* untilWaiting(1)
      yield* callers.cancel(1, second.id)
      yield* end
      yield* Fiber.join(beginning)
      const [signed, held, ...others] = yield* feedOf(second.id)
      assert.deepStrictEqual([signed, held], ["transaction.signed", "transaction.held"])
      assert.lengthOf(others, 1)
    })
  )
})
