// What a process leaves behind if it dies at any point, and what the next holder of its lane finds.
import { laneOf, nonceOf, noncesOf } from "../../../src/networks/evm/rules/Evm.ts"
import { assert } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Scope } from "effect"
import type { Context } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import type { Hold } from "../../../src/server/ledger/LedgerEntries.ts"
import { isUnavailable } from "../../../src/sql/Transaction.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { account, insert, newTransaction } from "../../../testkit/LedgerRows.ts"
import {
  claimOne,
  cuttable,
  eventsOf,
  holding,
  ledger,
  passLeases,
  process,
  sentOf,
  signAll,
  signature,
  untilWaiting,
  waitAfterSnapshot
} from "./Fixtures.ts"

/** Runs work in a process that holds a lane, kills it, and gives what the next holder finds. */
const afterDeath = Effect.fnUntraced(function* <E, R>(
  work: (hold: Hold, lanes: LaneLedger["Service"]) => Effect.Effect<unknown, E, R | LaneLedger>
) {
  const scope = yield* Scope.make()
  const dying: Context.Context<LaneLedger> = yield* Scope.provide(process(), scope)
  yield* Effect.gen(function* () {
    const { hold } = yield* claimOne
    yield* work(hold, yield* LaneLedger)
  }).pipe(Effect.provide(dying))
  yield* Scope.close(scope, Exit.void)
  const lanes = yield* LaneLedger
  yield* Effect.repeat(lanes.hasWork(["evm"]), { until: (hasWork) => hasWork })
  const { hold } = yield* claimOne
  return { hold, lanes, contents: yield* lanes.read(hold) }
})

layerEach(ledger)("a process that dies", (it) => {
  it.effect("before it commits a signature leaves a pending transaction", () =>
    Effect.gen(function* () {
      const [id] = yield* insert(account(1), 1)
      const { contents } = yield* afterDeath((hold, lanes) => lanes.read(hold))
      assert.deepStrictEqual(
        contents.pending.map((row) => row.id),
        [id]
      )
      assert.strictEqual(noncesOf(contents.stored.lane).nextNonce, 0)
    })
  )

  it.effect("after the commit of nonce and bytes, sent or not, leaves bytes that the next holder sends", () =>
    Effect.gen(function* () {
      yield* insert(account(1), 2)
      const { contents, lanes } = yield* afterDeath((hold) => signAll(hold))
      assert.deepStrictEqual(
        contents.inFlight.map(({ transaction }) => [transaction.state, nonceOf(transaction)]),
        [
          ["signed", 0],
          ["signed", 1]
        ]
      )
      const [first] = contents.inFlight
      const [attempt] = first?.transaction.attempts ?? []
      assert.deepInclude(attempt, { sends: 0, outcome: "unknown" })
      const [bytes] = first === undefined ? [] : yield* lanes.bytes([{ id: first.id, ordinal: 1 }])
      assert.strictEqual(new TextDecoder().decode(bytes?.raw), `bytes of ${attempt?.hash}`)
      assert.strictEqual(noncesOf(contents.stored.lane).nextNonce, 2)
    })
  )

  it.effect("after a bump was committed leaves both attempts", () =>
    Effect.gen(function* () {
      const [id] = yield* insert(account(1), 1)
      const { contents } = yield* afterDeath((hold, lanes) =>
        Effect.gen(function* () {
          const [signed] = yield* signAll(hold)
          const [sent] = signed === undefined ? [] : yield* lanes.recordSends(hold, [sentOf(signed, true)])
          if (sent !== undefined) yield* lanes.commitSignatures(hold, [signature(sent, 0)])
        })
      )
      const [row] = contents.inFlight
      assert.deepStrictEqual(
        row?.transaction.attempts.map(({ kind, outcome }) => [kind, outcome]),
        [
          ["original", "accepted"],
          ["bump", "unknown"]
        ]
      )
      assert.deepStrictEqual(id === undefined ? [] : yield* eventsOf(id), [
        "transaction.signed",
        "transaction.submitted",
        "transaction.replaced"
      ])
    })
  )

  it.effect("after a cancel was requested leaves the intent", () =>
    Effect.gen(function* () {
      const [id] = yield* insert(account(1), 1)
      const transactions = yield* Ledger
      const { contents } = yield* afterDeath((hold) =>
        Effect.andThen(signAll(hold), id === undefined ? Effect.void : transactions.cancel(1, id))
      )
      assert.deepInclude(contents.inFlight[0]?.transaction, { state: "signed", intent: "cancel" })
    })
  )

  it.effect("after a receipt was seen and not stored leaves a submitted transaction", () =>
    Effect.gen(function* () {
      yield* insert(account(1), 1)
      const { contents } = yield* afterDeath((hold, lanes) =>
        Effect.flatMap(signAll(hold), ([signed]) =>
          signed === undefined ? Effect.void : lanes.recordSends(hold, [sentOf(signed, true)])
        )
      )
      assert.deepInclude(contents.inFlight[0]?.transaction, { state: "submitted" })
    })
  )

  it.effect("and has claimed a lane without an answer does not keep it: nobody renews it", () =>
    Effect.gen(function* () {
      yield* insert(account(1), 1)
      const lanes = yield* LaneLedger
      yield* claimOne
      assert.deepStrictEqual(yield* lanes.renew([]), [])
      yield* passLeases
      assert.lengthOf(yield* (yield* LaneLedger).claim(["evm"], 1), 1)
    })
  )
})

/** A process that dies while the statement of its acceptance runs. `end` makes the statement end. Gives what the next holder finds. */
const afterAcceptance = Effect.fnUntraced(function* <E>(
  end: (release: Effect.Effect<void, SqlError.SqlError>) => Effect.Effect<unknown, E, SqlClient.SqlClient>
) {
  yield* insert(account(1), 1)
  yield* waitAfterSnapshot()
  const release = yield* holding
  const { process: dying, cut } = yield* cuttable
  const accepted = newTransaction(0)
  const accepting = Effect.flatMap(Ledger, ({ accept }) => accept(account(1), [accepted])).pipe(Effect.provide(dying))
  const fiber = yield* Effect.forkScoped(Effect.exit(accepting))
  yield* untilWaiting
  yield* cut
  assert.isTrue(Exit.isFailure(yield* Fiber.join(fiber)), "nobody was answered")
  yield* end(release)
  const { hold } = yield* claimOne
  const { pending } = yield* (yield* LaneLedger).read(hold)
  return { id: accepted.id, found: pending.map(({ id }) => id).includes(accepted.id) }
})

layerEach(ledger)("a process that dies while it accepts a transaction", (it) => {
  it.effect("leaves a pending transaction with its event if the server ends the statement", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { id, found } = yield* afterAcceptance((release) =>
        Effect.andThen(
          release,
          awaited(sql`SELECT FROM transactions`, (rows) => rows.length === 2)
        )
      )
      assert.deepStrictEqual([found, yield* eventsOf(id)], [true, ["transaction.created"]])
    })
  )

  it.effect("leaves nothing if the server dies with it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const waiting = sql`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`
      const { id, found } = yield* afterAcceptance((release) =>
        Effect.andThen(
          awaited(waiting, (rows) => rows.length === 0),
          release
        )
      )
      assert.deepStrictEqual([found, yield* eventsOf(id)], [false, []])
    })
  )
})

/** A process that dies while the statement runs by which its two lanes commit. `end` makes the statement end. Gives what the next holder finds of each lane. */
const afterSharedCommit = Effect.fnUntraced(function* <E>(
  end: (release: Effect.Effect<void, SqlError.SqlError>) => Effect.Effect<unknown, E, SqlClient.SqlClient>
) {
  const [one] = yield* insert(account(1), 1)
  const [two] = yield* insert(account(2), 1)
  const { process: dying, cut } = yield* cuttable
  const { commit } = yield* Effect.gen(function* () {
    const lanes = yield* LaneLedger
    const held = yield* lanes.claim(["evm"], 2)
    const commits = yield* Effect.forEach(held, ({ hold }) =>
      Effect.map(lanes.read(hold), ({ pending: [row] }) =>
        row === undefined ? Effect.void : lanes.commitSignatures(hold, [signature(row, 0)])
      )
    )
    return { commit: Effect.forEach(commits, Effect.exit, { concurrency: "unbounded" }) }
  }).pipe(Effect.provide(dying))
  yield* waitAfterSnapshot("UPDATE")
  const release = yield* holding
  const fiber = yield* Effect.forkScoped(commit)
  yield* untilWaiting
  yield* cut
  for (const exit of yield* Fiber.join(fiber)) {
    const isUnknown =
      Exit.isFailure(exit) && exit.cause.reasons.some((one) => Cause.isDieReason(one) && isUnavailable(one.defect))
    assert.isTrue(isUnknown, "a lane whose write has an unknown outcome does not try it alone")
  }
  yield* end(release)
  const lanes = yield* LaneLedger
  const found = yield* Effect.forEach(yield* lanes.claim(["evm"], 2), ({ hold }) => lanes.read(hold))
  const states = found.map(({ stored, inFlight, pending }) => [
    noncesOf(stored.lane).nextNonce,
    [...inFlight, ...pending].map(({ transaction }) => [transaction.state, transaction.attempts.length])
  ])
  const events = yield* Effect.forEach([one, two], (id) => (id === undefined ? Effect.succeed([]) : eventsOf(id)))
  return { states, events }
})

layerEach(ledger)("a process that dies while its lanes commit by one statement", (it) => {
  it.effect("leaves each lane whole, with its bytes, if the server ends the statement", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const found = yield* afterSharedCommit((release) =>
        Effect.andThen(
          release,
          awaited(sql`SELECT FROM attempts`, (rows) => rows.length === 2)
        )
      )
      assert.deepStrictEqual(found, {
        states: [
          [1, [["signed", 1]]],
          [1, [["signed", 1]]]
        ],
        events: [["transaction.signed"], ["transaction.signed"]]
      })
    })
  )

  it.effect("leaves each lane as it was if the server dies with it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const waiting = sql`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`
      const found = yield* afterSharedCommit((release) =>
        Effect.andThen(
          awaited(waiting, (rows) => rows.length === 0),
          release
        )
      )
      assert.deepStrictEqual(found, {
        states: [
          [0, [["pending", 0]]],
          [0, [["pending", 0]]]
        ],
        events: [[], []]
      })
    })
  )
})

/** A held lane with two transactions that have no nonce yet. */
const twoPending = Effect.gen(function* () {
  yield* insert(account(1), 2)
  const { hold } = yield* claimOne
  const lanes = yield* LaneLedger
  const { pending } = yield* lanes.read(hold)
  const [one, two] = pending
  if (one === undefined || two === undefined) return assert.fail("no rows")
  return { hold, lanes, pending, one, two }
})

layerEach(ledger)("a commit of signatures", (it) => {
  it.effect("that fails in one row writes none of them, and no nonce", () =>
    Effect.gen(function* () {
      const { hold, lanes, pending, one, two } = yield* twoPending
      const broken = signature(two, 1, { ordinal: 1 })
      const outOfRange = { ...broken, attempt: { ...broken.attempt, ordinal: 2 ** 40 } }
      const exit = yield* Effect.exit(lanes.commitSignatures(hold, [signature(one, 0), outOfRange]))
      assert.isTrue(Exit.isFailure(exit))
      const after = yield* lanes.read(hold)
      assert.strictEqual(noncesOf(after.stored.lane).nextNonce, 0)
      assert.deepStrictEqual(after.pending, pending)
      assert.lengthOf(yield* signAll(hold), 2)
    })
  )

  it.effect("is refused as a whole if a caller has canceled one of them meanwhile", () =>
    Effect.gen(function* () {
      const { hold, lanes, one, two } = yield* twoPending
      yield* (yield* Ledger).cancel(1, two.id)
      const commit = lanes.commitSignatures(hold, [signature(one, 0), signature(two, 1)])
      assert.strictEqual((yield* Effect.flip(commit))._tag, "LaneChanged")
      assert.lengthOf(yield* signAll(hold), 1)
    })
  )

  it.effect("is refused as a whole if one of them changes while the commit waits for the lane", () =>
    Effect.gen(function* () {
      const { hold, lanes, pending, one, two } = yield* twoPending
      const sql = yield* SqlClient.SqlClient
      const isWaiting = sql`
        SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%gate%'`
      const held = yield* Deferred.make<void>()
      const seen = yield* Deferred.make<void>()
      const changing = Effect.gen(function* () {
        yield* sql`SELECT 1 FROM lanes FOR NO KEY UPDATE`
        yield* Deferred.succeed(held, undefined)
        yield* Deferred.await(seen)
        yield* sql`UPDATE transactions SET version = version + 1 WHERE id = ${two.id}`
      })
      const change = yield* Effect.forkScoped(sql.withTransaction(changing))
      yield* Deferred.await(held)
      const commit = yield* Effect.forkScoped(
        Effect.flip(lanes.commitSignatures(hold, [signature(one, 0), signature(two, 1)]))
      )
      yield* Effect.repeat(isWaiting, { until: (rows) => rows.length > 0 })
      yield* Deferred.succeed(seen, undefined)
      yield* Fiber.join(change)
      assert.strictEqual((yield* Fiber.join(commit))._tag, "LaneChanged")
      const after = yield* lanes.read(hold)
      assert.strictEqual(noncesOf(after.stored.lane).nextNonce, 0)
      assert.deepStrictEqual(
        after.pending.map(({ version }) => version),
        pending.map(({ id, version }) => (id === two.id ? version + 1 : version))
      )
    })
  )

  it.effect("is refused if the lane would assign other nonces", () =>
    Effect.gen(function* () {
      yield* insert(account(1), 1)
      const { hold, stored } = yield* claimOne
      const lanes = yield* LaneLedger
      const [one] = (yield* lanes.read(hold)).pending
      if (one === undefined) return assert.fail("no row")
      const { lane } = stored
      yield* lanes.saveLane(hold, {
        chain: stored.chain,
        read: stored,
        lane: laneOf({ ...noncesOf(lane), nextNonce: 7, chainNonce: 7 }),
        usedTrust: false,
        nextPollAt: 0
      })
      assert.strictEqual((yield* Effect.flip(lanes.commitSignatures(hold, [signature(one, 0)])))._tag, "LaneChanged")
      const [signed] = yield* lanes.commitSignatures(hold, [signature(one, 7)])
      assert.strictEqual(signed?.transaction.place?.sequence, 7n)
    })
  )
})
