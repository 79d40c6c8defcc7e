// Signatures that callers get and the service does not send: stored before they are answered, and counted as long as they can cost.
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Result } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Caller from "../../../src/domain/access/Caller.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import type { Lane } from "../../../src/networks/core/Transaction.ts"
import { rulesOfUnknown } from "../../../src/networks/core/UnknownNetwork.ts"
import type { Account, GivenSignature } from "../../../src/server/ledger/LedgerEntries.ts"
import { makeGivenSignatures } from "../../../src/server/ledger/SignaturesRepo.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { accept, account as evmAccount, newTransaction } from "../../../testkit/LedgerRows.ts"
import { ledgersOf } from "./Contract.ts"
import { actions, ledgerOf, signature } from "./Fixtures.ts"

/** A network whose bytes have no sequence, so that two transactions can have the same ones. */
const paper = {
  ...rulesOfUnknown("paper"),
  repeated: () => undefined,
  withGiven: (facts: object, { hash }: { readonly hash: string }) => ({ ...facts, given: hash })
}

const ledger = ledgerOf(paper)

const account = (relayer: number): Account => ({ ...evmAccount(relayer), chain: "paper:1" })

/** The database compares with its own clock. */
const past = Date.UTC(2020, 0)
const future = Date.UTC(2100, 0)

const signed = (hash: string, over: Partial<GivenSignature> = {}): GivenSignature => ({
  hash,
  raw: new TextEncoder().encode(`bytes of ${hash}`),
  fee: 7n,
  end: { validUntil: future },
  ...over
})

/** The limit of the caller of the test. */
const limitOf = Effect.map(Caller.current, ({ id }) => ({ keyId: id, networkType: "paper" }))

const passMoments = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`UPDATE signatures_given SET valid_until = now() - interval '1 second' WHERE valid_until IS NOT NULL`
)

/** A transaction without bytes, and its lane, which this process holds. */
const pendingRow = Effect.gen(function* () {
  const lanes = yield* LaneLedger
  yield* accept(account(1), 1, { request: {} })
  const [lane] = yield* lanes.claim(["paper"], 1)
  if (lane === undefined) return assert.fail("the lane is not free")
  const [row] = (yield* lanes.read(lane.hold)).pending
  if (row === undefined) return assert.fail("no transaction is pending")
  /** Commits a signature of it. */
  const commit = (hash: string) => {
    const { attempt, ...others } = signature(row, 0, { hash })
    return lanes.commitSignatures(lane.hold, [{ ...others, attempt: { ...attempt, offer: {} } }])
  }
  return { commit, lanes }
})

for (const [kind, either] of ledgersOf(paper)) {
  layerEach(either)(`a signature that a caller gets, ${kind},`, (it) => {
    it.effect("is taken over by a later transaction with the same bytes", () =>
      Effect.gen(function* () {
        const transactions = yield* Ledger
        yield* transactions.give(account(1), signed("a", { identity: "same", offer: {} }))
        const send = (identity: string) =>
          Effect.map(
            transactions.accept(account(1), [newTransaction(0, { request: {}, identity })]),
            ([{ stored }]) => stored.transaction.facts
          )
        assert.deepStrictEqual(yield* send("same"), { given: "a" })
        assert.deepStrictEqual(yield* send("other"), {})
      })
    )

    it.effect(
      "is refused while it is the signature of a transaction that the service built, or that was executed",
      () =>
        Effect.gen(function* () {
          const transactions = yield* Ledger
          const { commit, lanes } = yield* pendingRow
          const hash = "s".repeat(88)
          const [built] = yield* commit(hash)
          const same = yield* Effect.flip(transactions.give(account(1), signed(hash, { identity: "bytes" })))
          assert.strictEqual(same.message, `already_accepted: transaction ${built?.id} has the same bytes`)
          const other = yield* Effect.flip(transactions.give({ ...account(1), relayerNumber: 2 }, signed(hash)))
          assert.strictEqual(other.message, "already_accepted: a transaction of another relayer has the same bytes")
          assert.strictEqual((yield* lanes.given([hash])).size, 0)
          assert.isTrue((yield* transactions.give(account(1), signed("other"))).isNew)
        })
    )

    it.effect("is not that of a transaction with other bytes, which is signed again later", () =>
      Effect.gen(function* () {
        const transactions = yield* Ledger
        const { commit } = yield* pendingRow
        yield* transactions.give(account(1), signed("taken", { identity: "bytes" }))
        assert.strictEqual((yield* Effect.flip(commit("taken")))._tag, "LaneChanged")
        const [built] = yield* commit("free")
        assert.strictEqual(built?.transaction.attempts[0]?.hash, "free")
      })
    )

    it.effect("is stored once if several callers ask for it at the same time", () =>
      Effect.gen(function* () {
        const transactions = yield* Ledger
        const given = yield* Effect.forEach(
          ["a", "b", "c", "d", "e", "f"],
          (hash) => transactions.give(account(1), signed(hash, { identity: "same" })),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(new Set(given.map(({ hash }) => hash)).size, 1)
        assert.lengthOf(
          given.filter(({ isNew }) => isNew),
          1
        )
      })
    )
  })
}

layerEach(ledger)("a signature that a caller gets", (it) => {
  it.effect("is stored once per identity, and given again to callers of the same relayer alone", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const first = yield* transactions.give(account(1), signed("a", { identity: "same" }))
      assert.isTrue(first.isNew)
      const again = yield* transactions.give(account(1), signed("b", { identity: "same" }))
      assert.deepStrictEqual([again.hash, again.isNew], ["a", false])
      assert.strictEqual(new TextDecoder().decode(again.raw), "bytes of a")
      const other = yield* Effect.flip(transactions.give(account(2), signed("c", { identity: "same" })))
      assert.strictEqual(other.message, "already_signed: the same bytes were signed for another relayer")
      const known = yield* (yield* LaneLedger).given(["a", "b", "c"])
      assert.deepStrictEqual([...known], ["a"])
      assert.deepStrictEqual(yield* actions, ["transaction.signed"])
    })
  )

  it.effect("is refused if a transaction has the same identity, or if the relayer is paused or does not exist", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const [{ stored }] = yield* transactions.accept(account(1), [
        newTransaction(0, { request: {}, identity: "same" })
      ])
      const same = yield* Effect.flip(transactions.give(account(1), signed("a", { identity: "same" })))
      assert.strictEqual(same.message, `already_accepted: transaction ${stored.id} has the same bytes`)
      yield* sql`UPDATE relayers SET paused = true WHERE seq = 1`
      assert.strictEqual((yield* Effect.flip(transactions.give(account(1), signed("a"))))._tag, "RelayerPaused")
      const missing = { ...account(1), relayerNumber: 99 }
      assert.strictEqual((yield* Effect.flip(transactions.give(missing, signed("a"))))._tag, "RelayerNotFound")
      assert.strictEqual((yield* (yield* LaneLedger).given(["a"])).size, 0)
    })
  )

  it.effect("is not that of a transaction whose commit has waited until the caller got it", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const { commit } = yield* pendingRow
      const isStored = yield* Deferred.make<void>()
      const isWaitedFor = yield* Deferred.make<void>()
      const giving = transactions
        .give(account(1), signed("taken", { identity: "bytes" }))
        .pipe(Effect.andThen(Deferred.succeed(isStored, undefined)), Effect.andThen(Deferred.await(isWaitedFor)))
      const given = yield* Effect.forkScoped(sql.withTransaction(giving))
      yield* Deferred.await(isStored)
      const refused = yield* Effect.forkScoped(Effect.flip(commit("taken")))
      yield* Effect.repeat(
        sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        { until: (rows) => rows.length > 0 }
      )
      yield* Deferred.succeed(isWaitedFor, undefined)
      yield* Fiber.join(given)
      assert.strictEqual((yield* Fiber.join(refused))._tag, "LaneChanged")
    })
  )

  it.effect("counts for max_fee_per_day of its key for 24 hours, also if it can no longer land", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const limit = yield* limitOf
      yield* sql`INSERT INTO api_key_fee_limits (key_id, network_type, maximum) VALUES (${limit.keyId}, 'paper', 20)`
      const give = (hash: string) =>
        Effect.result(
          transactions.give(account(1), signed(hash, { end: { validUntil: past } }), [{ ...limit, maximum: 20n }])
        )
      assert.isTrue(Result.isSuccess(yield* give("a")))
      assert.isTrue(Result.isSuccess(yield* give("b")))
      assert.strictEqual(yield* transactions.feesOfLastDay(limit), 14n)
      assert.strictEqual(yield* transactions.feesOfLastDay({ ...limit, networkType: "evm" }), 0n)
      const refused = yield* give("c")
      assert.strictEqual(Result.isFailure(refused) && refused.failure._tag, "FeeLimitExceeded")
      yield* TestClock.adjust("25 hours")
      assert.strictEqual(yield* transactions.feesOfLastDay(limit), 0n)
      assert.isTrue(Result.isSuccess(yield* give("c")))
    })
  )

  it.effect("counts in the funds of its lane while a moment or a height allows it to land", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const lanes = yield* LaneLedger
      yield* transactions.give(account(1), signed("a", { fee: 2n ** 70n }))
      yield* transactions.give(account(1), signed("b", { end: { lastHeight: 10 } }))
      yield* transactions.give(account(2), signed("c"))
      assert.strictEqual(yield* transactions.reserved(account(1)), 2n ** 70n + 7n)
      yield* accept(account(1), 1, { request: {} })
      const { id } = Option.getOrThrow(yield* transactions.laneOf(account(1)))
      const [held] = yield* lanes.claim(["paper"], 1, [id])
      if (held === undefined) return assert.fail("the lane is not free")
      const { chain, lane } = held.stored
      const saveAt = (height: number) => {
        const [own] = lane.accounts
        const found: Lane = { ...lane, accounts: [{ ...own, chainBlock: { number: height, hash: "" } }] }
        return Effect.flatMap(lanes.read(held.hold), ({ stored: read }) =>
          lanes.saveLane(held.hold, { chain, read, lane: found, usedTrust: false, nextPollAt: 0 })
        )
      }
      yield* saveAt(10)
      assert.strictEqual((yield* lanes.read(held.hold)).stored.givenCost, 2n ** 70n + 7n)
      yield* passMoments
      assert.strictEqual((yield* lanes.read(held.hold)).stored.givenCost, 7n)
      yield* saveAt(11)
      assert.isUndefined((yield* lanes.read(held.hold)).stored.givenCost)
      assert.strictEqual(yield* transactions.reserved(account(1)), 0n)
    })
  )

  it.effect("is deleted when it is old and counts nowhere", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const { prune } = yield* makeGivenSignatures
      yield* transactions.give(account(1), signed("old", { end: { validUntil: past } }))
      yield* transactions.give(account(1), signed("valid"))
      yield* transactions.give(account(1), signed("low", { end: { lastHeight: 9 } }))
      yield* transactions.give(account(1), signed("high", { end: { lastHeight: 10 } }))
      yield* transactions.give(account(2), signed("new", { end: { validUntil: past } }))
      yield* transactions.give(account(3), signed("unread", { end: { lastHeight: 10 } }))
      yield* transactions.give(account(3), signed("young", { end: { lastHeight: 10 } }))
      yield* sql`UPDATE signatures_given SET created_at = now() WHERE hash = 'new'`
      yield* sql`UPDATE signatures_given SET created_at = now() - interval '6 days' WHERE hash IN ('high', 'young')`
      yield* sql`UPDATE lanes SET chain_block = 10, chain_hash = '' WHERE address <> ${account(3).address}`
      assert.strictEqual(yield* prune("2 days", 1), 1)
      assert.strictEqual(yield* prune("2 days", 10), 2)
      assert.strictEqual(yield* prune("2 days", 10), 0)
      const known = yield* (yield* LaneLedger).given(["old", "valid", "low", "high", "new", "unread", "young"])
      assert.deepStrictEqual([...known].toSorted(), ["high", "new", "valid", "young"])
    })
  )
})
