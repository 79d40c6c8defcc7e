// Claims on lanes: exclusive, leased, fenced, and free as soon as their holder is dead.
import { assert } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import type { Context } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { cause } from "../../../src/networks/core/Cause.ts"
import { Command, finish } from "../../../src/networks/core/Rules.ts"
import { noncesOf } from "../../../src/networks/evm/rules/Evm.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { accept, account, insert } from "../../../testkit/LedgerRows.ts"
import { Backing, contract } from "./Contract.ts"
import {
  claimOne,
  eventsOf,
  ledger,
  locking,
  passLeases,
  process,
  sentOf,
  signAll,
  signature,
  untilWaiting
} from "./Fixtures.ts"

const of = <A, E, R>(self: Effect.Effect<A, E, R>, services: Context.Context<LaneLedger>) =>
  Effect.provide(self, services)

contract("claims on lanes", (it) => {
  it.effect("leave lanes of network types that the process does not send for to others", () =>
    Effect.gen(function* () {
      yield* accept({ ...account(1), chain: "mars:1" }, 1, { request: { to: "olympus" } })
      const lanes = yield* LaneLedger
      assert.isFalse(yield* lanes.hasWork(["evm"]))
      assert.deepStrictEqual(yield* lanes.claim(["evm"], 10), [])
      yield* accept(account(2), 1)
      const [own, ...others] = yield* lanes.claim(["evm", "solana"], 10)
      assert.deepStrictEqual([own?.stored.chain, others], ["evm:11155111", []])
      assert.isTrue(yield* lanes.hasWork(["evm", "mars"]))
      const [mars] = yield* lanes.claim(["mars"], 10)
      assert.strictEqual(mars?.stored.chain, "mars:1")
    })
  )

  it.effect("are renewed by id and epoch, and never after another process has claimed the lane", () =>
    Effect.gen(function* () {
      yield* accept(account(1), 1)
      const { hold } = yield* claimOne
      const lanes = yield* LaneLedger
      assert.deepStrictEqual(yield* lanes.renew([hold]), [hold])
      assert.deepStrictEqual(yield* lanes.renew([{ ...hold, epoch: hold.epoch - 1 }]), [])
      yield* (yield* Backing).passLeases
      const other = yield* (yield* Backing).process
      const taken = yield* of(claimOne, other)
      assert.strictEqual(taken.hold.laneId, hold.laneId)
      assert.isAbove(taken.hold.epoch, hold.epoch)
      assert.deepStrictEqual(yield* lanes.renew([hold]), [])
      assert.isTrue(yield* lanes.release(hold, "draining"), "a lost lane counts as released")
      assert.deepStrictEqual(
        yield* of(
          Effect.flatMap(LaneLedger, (own) => own.renew([taken.hold])),
          other
        ),
        [taken.hold]
      )
    })
  )

  it.effect("of a process whose session has ended are free before the lease has passed", () =>
    Effect.gen(function* () {
      yield* accept(account(1), 1)
      const scope = yield* Scope.make()
      const dying = yield* Scope.provide((yield* Backing).process, scope)
      yield* of(claimOne, dying)
      const lanes = yield* LaneLedger
      assert.isFalse(yield* lanes.hasWork(["evm"]))
      assert.deepStrictEqual(yield* lanes.claim(["evm"], 10), [])
      yield* Scope.close(scope, Exit.void)
      // The server notices the end of the session a moment later.
      yield* Effect.repeat(lanes.hasWork(["evm"]), { until: (hasWork) => hasWork })
      assert.lengthOf(yield* lanes.claim(["evm"], 10), 1)
    })
  )

  it.effect("of an idle lane are given back only if nothing is open", () =>
    Effect.gen(function* () {
      const [id] = yield* accept(account(1), 1)
      const { hold } = yield* claimOne
      const lanes = yield* LaneLedger
      assert.isFalse(yield* lanes.release(hold, "idle"))
      assert.deepStrictEqual(yield* lanes.renew([hold]), [hold])
      const { pending } = yield* lanes.read(hold)
      const command = finish({ state: "canceled", cause: cause("canceled") })
      for (const stored of pending) yield* lanes.apply(hold, [{ stored, command }])
      assert.isTrue(yield* lanes.release(hold, "idle"))
      assert.deepStrictEqual(yield* lanes.claim(["evm"], 10), [])
      assert.deepStrictEqual(id === undefined ? [] : yield* eventsOf(id), [
        "transaction.created",
        "transaction.canceled"
      ])
    })
  )

  it.effect("of other lanes than the wanted ones are not made", () =>
    Effect.gen(function* () {
      yield* accept(account(1), 1)
      yield* accept(account(2), 1)
      const lanes = yield* LaneLedger
      const [first] = yield* lanes.claim(["evm"], 1)
      const wanted = first === undefined ? [] : [first.hold.laneId]
      assert.lengthOf(wanted, 1)
      assert.deepStrictEqual(yield* lanes.claim(["evm"], 10, wanted), [], "it is held")
      assert.lengthOf(yield* lanes.claim(["evm"], 10), 1)
    })
  )
})

layerEach(ledger)("claims on lanes", (it) => {
  it.effect("are renewed while one of the lanes is locked, and hold up no write of the others meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lanes = yield* LaneLedger
      for (const relayer of [1, 2, 3]) yield* insert(account(relayer), 1)
      const holds = (yield* lanes.claim(["evm"], 3)).map(({ hold }) => hold)
      const last = String(Math.max(...holds.map(({ laneId }) => laneId)))
      yield* sql`UPDATE lanes SET held_until = now() + interval '1 day'`
      const renewed = sql`SELECT FROM lanes WHERE held_until < now() + interval '1 hour'`
      const release = yield* locking(sql`SELECT FROM lanes WHERE id = ${last}::bigint FOR UPDATE`)
      const renewing = yield* Effect.forkScoped(lanes.renew(holds))
      yield* untilWaiting
      assert.lengthOf(yield* renewed, 2)
      assert.lengthOf(yield* sql`SELECT FROM lanes WHERE id <> ${last}::bigint FOR NO KEY UPDATE SKIP LOCKED`, 2)
      yield* TestClock.adjust(lanes.lease)
      assert.sameDeepMembers([...(yield* Fiber.join(renewing))], holds)
      yield* release
      assert.sameDeepMembers([...(yield* lanes.renew(holds))], holds)
      assert.lengthOf(yield* renewed, 3)
    })
  )

  it.effect("take only lanes with open transactions, and each lane once", () =>
    Effect.gen(function* () {
      for (const relayer of [1, 2, 3, 4, 5]) yield* insert(account(relayer), 2)
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE transactions SET state = 'expired', final_at = now() WHERE relayer_number = 5`
      const others = yield* Effect.forEach([1, 2, 3], () => process())
      const claims = yield* Effect.forEach(
        others,
        (other) =>
          of(
            Effect.flatMap(LaneLedger, (lanes) => lanes.claim(["evm"], 2)),
            other
          ),
        { concurrency: "unbounded" }
      )
      const rest = yield* (yield* LaneLedger).claim(["evm"], 10)
      const ids = [...claims.flat(), ...rest].map(({ hold }) => hold.laneId)
      assert.lengthOf(ids, 4)
      assert.strictEqual(new Set(ids).size, 4)
    })
  )

  it.effect("are not hindered by transactions that are being accepted", () =>
    Effect.gen(function* () {
      yield* insert(account(1), 1)
      const sql = yield* SqlClient.SqlClient
      const inserted = yield* Deferred.make<void>()
      const done = yield* Deferred.make<void>()
      const accepting = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.andThen(
            insert(account(1), 1),
            Effect.andThen(Deferred.succeed(inserted, undefined), Deferred.await(done))
          )
        )
      )
      yield* Deferred.await(inserted)
      const { hold } = yield* claimOne
      assert.lengthOf(yield* signAll(hold), 1)
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(accepting)
    })
  )
})

contract("a process that has lost its lane", (it) => {
  it.effect("writes nothing for its former claim, also if it has claimed the lane again", () =>
    Effect.gen(function* () {
      yield* accept(account(1), 1)
      const { hold } = yield* claimOne
      const lanes = yield* LaneLedger
      const [row = assert.fail("no row")] = (yield* lanes.read(hold)).pending
      assert.isTrue(yield* lanes.release(hold, "draining"))
      const again = yield* claimOne
      assert.isAbove(again.hold.epoch, hold.epoch)
      const late = yield* Effect.flip(lanes.commitSignatures(hold, [signature(row, 0)]))
      assert.strictEqual(late._tag, "LaneLost")
      assert.lengthOf(yield* signAll(again.hold), 1)
    })
  )

  it.effect("loses it also if nobody else has claimed it, when the lease has passed", () =>
    Effect.gen(function* () {
      yield* accept(account(1), 1)
      const { hold } = yield* claimOne
      yield* (yield* Backing).passLeases
      assert.strictEqual((yield* Effect.flip(signAll(hold)))._tag, "LaneLost")
    })
  )
})

layerEach(ledger)("a process that has lost its lane in a database", (it) => {
  it.effect("writes nothing at all", () =>
    Effect.gen(function* () {
      const [id] = yield* insert(account(1), 2)
      const { hold } = yield* claimOne
      const lanes = yield* LaneLedger
      const { pending, stored: lane } = yield* lanes.read(hold)
      const [one, two] = pending
      if (id === undefined || one === undefined || two === undefined) return assert.fail("no rows")
      const [signed] = yield* lanes.commitSignatures(hold, [signature(one, 0)])
      if (signed === undefined) return assert.fail("not signed")
      yield* passLeases
      const other = yield* process()
      const taken = yield* of(claimOne, other)

      const sql = yield* SqlClient.SqlClient
      const everything = sql`
        SELECT (SELECT json_agg(l) FROM lanes l) AS lanes, (SELECT json_agg(t ORDER BY number) FROM transactions t) AS transactions,
          (SELECT json_agg(a) FROM attempts a) AS attempts, (SELECT count(*) FROM events) AS events`
      const before = yield* everything
      const hold1 = Command.Hold({ cause: cause("at_cap"), scope: "transaction" })
      const state = { chain: lane.chain, read: lane, lane: lane.lane, usedTrust: false, nextPollAt: 0 }
      const writes: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        lanes.commitSignatures(hold, [signature(two, 1)]),
        lanes.commitSignatures(hold, [signature(signed, 0)]),
        lanes.recordSends(hold, [sentOf(signed, true)]),
        lanes.apply(hold, [{ stored: signed, command: hold1 }]),
        lanes.saveLane(hold, state),
        lanes.markRestored(hold, lane.chain, undefined),
        lanes.reportReorgedFinal(hold, [signed]),
        lanes.read(hold)
      ]
      for (const write of writes) assert.strictEqual((yield* Effect.flip(write))._tag, "LaneLost")
      assert.deepStrictEqual(yield* everything, before)

      const after = yield* of(
        Effect.flatMap(LaneLedger, (own) => own.read(taken.hold)),
        other
      )
      assert.deepStrictEqual(
        after.inFlight.map((row) => row.id),
        [signed.id]
      )
      assert.deepStrictEqual(
        after.pending.map((row) => row.id),
        [two.id]
      )
      assert.strictEqual(noncesOf(after.stored.lane).nextNonce, 1)
    })
  )
})
