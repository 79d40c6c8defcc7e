// What the holder of a lane reads and writes, on a database and in memory: order, fences, deadlines, gaps, channels and restores.
import { assert } from "@effect/vitest"
import { Array, Effect, Fiber, Option, Queue } from "effect"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { cause } from "../../../src/networks/core/Cause.ts"
import { Command, finish, mine } from "../../../src/networks/core/Rules.ts"
import { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import { laneOf, noncesOf } from "../../../src/networks/evm/rules/Evm.ts"
import type { StoredTransaction } from "../../../src/server/ledger/LedgerEntries.ts"
import { accept, account } from "../../../testkit/LedgerRows.ts"
import { contract } from "./Contract.ts"
import { claimOne, eventsOf, sentOf, signAll, signature } from "./Fixtures.ts"

const idsOf = (rows: ReadonlyArray<StoredTransaction>) => rows.map(({ id }) => id)

const newId = () => TransactionId.make(randomUUID())

const receipt = {
  height: 5,
  blockHash: "0x05",
  isSuccess: true,
  paid: 42_000n,
  details: { gasUsed: 21_000n, effectiveGasPrice: 2n }
}

contract("a held lane", (it) => {
  it.effect("shows what is in flight by its sequence, and what is pending by its turn", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      const [one, two] = yield* accept(account(1), 2)
      const { hold } = yield* claimOne
      yield* signAll(hold)
      const [slow] = yield* accept(account(1), 1, { priority: -1 })
      const [fast] = yield* accept(account(1), 1, { priority: 1, validUntil: 9000 })
      const [later] = yield* accept(account(1), 1, { notBefore: 5000 })
      const { inFlight, pending, pendingCount, nextMoment } = yield* lanes.read(hold)
      assert.deepStrictEqual(idsOf(inFlight), [one, two])
      assert.deepStrictEqual(
        idsOf(pending).filter((id) => id !== later),
        [fast, slow]
      )
      assert.deepStrictEqual([pendingCount, nextMoment], [3, 5000])
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual((yield* lanes.read(hold)).nextMoment, 9000)
    })
  )

  it.effect("shows at most 128 pending transactions of each relayer, and counts all", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      yield* accept(account(1), 200)
      const [other] = yield* accept(account(2, 1), 1)
      const { pending, pendingCount } = yield* lanes.read((yield* claimOne).hold)
      assert.deepStrictEqual([pending.length, pendingCount], [129, 201])
      assert.include(idsOf(pending), other)
    })
  )

  it.effect("gives each sequence once: a commit at another one than the next changes nothing", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      yield* accept(account(1), 2)
      const { hold } = yield* claimOne
      const [first = assert.fail("nothing is pending"), second = assert.fail("nothing is pending")] =
        (yield* lanes.read(hold)).pending
      const early = yield* Effect.flip(lanes.commitSignatures(hold, [signature(first, 1)]))
      assert.strictEqual(early._tag, "LaneChanged")
      const [signed = assert.fail("not signed")] = yield* lanes.commitSignatures(hold, [signature(first, 0)])
      assert.deepInclude(signed.transaction, { state: "signed", place: { account: account(1).address, sequence: 0n } })
      const again = yield* Effect.flip(lanes.commitSignatures(hold, [signature(second, 0)]))
      assert.strictEqual(again._tag, "LaneChanged")
      const { stored, inFlight } = yield* lanes.read(hold)
      assert.deepStrictEqual(inFlight, [signed])
      assert.strictEqual(noncesOf(stored.lane).nextNonce, 1)
    })
  )

  it.effect("commits all signatures or none: a cancel of one transaction keeps the others unsigned", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      const [, second] = yield* accept(account(1), 2)
      const { hold } = yield* claimOne
      const { pending } = yield* lanes.read(hold)
      const signatures = pending.map((row, index) => signature(row, index))
      yield* (yield* Ledger).cancel(1, second ?? assert.fail("nothing was accepted"))
      const stale = Array.isReadonlyArrayNonEmpty(signatures)
        ? yield* Effect.flip(lanes.commitSignatures(hold, signatures))
        : assert.fail("nothing is pending")
      assert.strictEqual(stale._tag, "LaneChanged")
      const { stored, inFlight, pendingCount } = yield* lanes.read(hold)
      assert.deepStrictEqual([noncesOf(stored.lane).nextNonce, inFlight.length, pendingCount], [0, 0, 1])
    })
  )

  it.effect("keeps the bytes of each attempt, and knows the hashes of its own", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      const [id] = yield* accept(account(1), 1)
      const { hold } = yield* claimOne
      const [signed = assert.fail("not signed")] = yield* signAll(hold)
      const bump = signature(signed, 0, { kind: "bump" })
      yield* lanes.commitSignatures(hold, [bump])
      const { hash = "" } = signed.transaction.attempts[0] ?? {}
      const [bytes] = yield* lanes.bytes([{ id, ordinal: 2 }])
      assert.deepStrictEqual(bytes && [...bytes.raw], [...bump.raw])
      assert.deepStrictEqual(yield* lanes.bytes([{ id, ordinal: 3 }]), [])
      assert.deepStrictEqual(
        yield* lanes.own(hold, [hash, bump.attempt.hash, "0x00"]),
        new Set([hash, bump.attempt.hash])
      )
      assert.deepStrictEqual(yield* eventsOf(id), ["transaction.created", "transaction.signed", "transaction.replaced"])
    })
  )

  it.effect("records what nodes answered although a caller has canceled the transaction meanwhile", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      const [id] = yield* accept(account(1), 1)
      const { hold } = yield* claimOne
      const [signed = assert.fail("not signed")] = yield* signAll(hold)
      yield* (yield* Ledger).cancel(1, id)
      const [recorded = assert.fail("not recorded")] = yield* lanes.recordSends(hold, [sentOf(signed, true, 7)])
      assert.deepInclude(recorded.transaction, { state: "submitted", intent: "cancel" })
      assert.deepStrictEqual((yield* lanes.read(hold)).inFlight, [recorded])
    })
  )

  it.effect("leaves a transaction as it is if it has changed since the decision", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      const [id] = yield* accept(account(1), 1)
      const { hold } = yield* claimOne
      const [signed = assert.fail("not signed")] = yield* signAll(hold)
      yield* (yield* Ledger).cancel(1, id)
      const command = Command.Hold({ cause: cause("at_cap"), scope: "transaction" })
      assert.deepStrictEqual(yield* lanes.apply(hold, [{ stored: signed, command }]), [])
      assert.strictEqual((yield* (yield* Ledger).get(1, id)).transaction.intent, "cancel")
    })
  )

  it.effect("gives a place that a transaction has given up away again, unless the counter has moved on", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      yield* accept(account(1), 2)
      const { hold } = yield* claimOne
      const [first = assert.fail("not signed"), second = assert.fail("not signed")] = yield* signAll(hold)
      const requeue = (next: bigint) =>
        Command.Requeue({ restored: false, requeues: 0, cause: cause("queued"), frees: { next } })
      const next = Effect.map(lanes.read(hold), ({ stored }) => noncesOf(stored.lane).nextNonce)
      yield* lanes.apply(hold, [{ stored: first, command: requeue(0n) }])
      assert.strictEqual(yield* next, 2)
      yield* lanes.apply(hold, [{ stored: second, command: requeue(1n) }])
      assert.strictEqual(yield* next, 1)
    })
  )

  it.effect("ends what is past its deadline, except restored transactions", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      const [due] = yield* accept(account(1), 1, { validUntil: 1000 })
      const [open] = yield* accept(account(1), 1, { validUntil: 5000 })
      const { hold } = yield* claimOne
      assert.deepStrictEqual(yield* lanes.expire(hold), [])
      yield* TestClock.adjust("1 second")
      const [expired, ...others] = yield* lanes.expire(hold)
      assert.deepStrictEqual([expired?.id, expired?.transaction.state, others], [due, "expired", []])
      assert.deepStrictEqual(idsOf((yield* lanes.read(hold)).pending), [open])
    })
  )

  it.effect("fills sequences that nothing has with rows of the service, and each of them once", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      yield* accept(account(1), 1)
      const { hold, stored } = yield* claimOne
      const moved = laneOf({ ...noncesOf(stored.lane), nextNonce: 2 })
      const state = { chain: stored.chain, read: stored, lane: moved, usedTrust: false, nextPollAt: stored.nextPollAt }
      yield* lanes.saveLane(hold, state)
      const [owner = assert.fail("nothing is pending")] = (yield* lanes.read(hold)).pending
      const gap = (sequence: number) => {
        const { attempt, raw, cause } = signature(owner, sequence, { kind: "noop" })
        return { id: newId(), request: { to: owner.from, value: 0n, data: "0x" }, attempt, raw, cause }
      }
      const filled = gap(1)
      const [row = assert.fail("not filled")] = yield* lanes.commitGaps(hold, owner, [filled])
      assert.deepInclude(row.transaction, { origin: "gap", state: "signed", intent: "clear", clearCode: "gap_filled" })
      assert.strictEqual(row.version, 1)
      assert.deepStrictEqual((yield* lanes.read(hold)).inFlight, [row])
      assert.strictEqual((yield* Effect.flip(lanes.commitGaps(hold, owner, [gap(0), gap(1)])))._tag, "LaneChanged")
      assert.deepStrictEqual(yield* lanes.committedFrom(hold, 0n), [1n])
      assert.deepStrictEqual(yield* eventsOf(filled.id), [], "no events report rows of the service")
    })
  )

  it.effect("finds sequences and final transactions from a sequence on, for a reorganisation", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      yield* accept(account(1), 3)
      const { hold } = yield* claimOne
      const [, second = assert.fail("not signed"), third = assert.fail("not signed")] = yield* signAll(hold)
      const mined = mine({ mined: { ordinal: 1, receipt }, state: "mined", cause: cause("mined_waiting") })
      const [found = assert.fail("not mined")] = yield* lanes.apply(hold, [{ stored: second, command: mined }])
      const end = finish({ state: "confirmed", cause: cause("confirmed", { block: 5 }) })
      yield* lanes.apply(hold, [{ stored: found, command: end }])
      yield* lanes.apply(hold, [
        { stored: third, command: finish({ state: "failed", cause: cause("refused_by_all") }) }
      ])
      assert.deepStrictEqual(yield* lanes.committedFrom(hold, 1n), [1n, 2n])
      assert.deepStrictEqual(yield* lanes.minedFrom(hold, 0n), [1n])
      const final = yield* lanes.finalFrom(hold, 1n)
      assert.deepStrictEqual(idsOf(final), [second.id, third.id])
      yield* lanes.reportReorgedFinal(hold, final.slice(0, 1))
      assert.strictEqual((yield* eventsOf(second.id)).at(-1), "transaction.reorged_final")
    })
  )

  it.effect("is saved only as it was read, and keeps since when its code holds it", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      yield* accept(account(1), 1)
      const { hold, stored } = yield* claimOne
      const save = (read: typeof stored, nextPollAt: number, code?: "at_cap") =>
        lanes.saveLane(hold, {
          chain: stored.chain,
          read,
          lane: { ...stored.lane, windowSize: 7 },
          genesis: "0xaa",
          usedTrust: true,
          nextPollAt,
          ...(code === undefined ? {} : { code })
        })
      yield* TestClock.adjust("1 second")
      const first = yield* save(stored, 100, "at_cap")
      assert.deepStrictEqual(
        [first.genesis, first.lane.windowSize, first.code, first.codeSince, first.nextPollAt],
        ["0xaa", 7, "at_cap", 1000, 100]
      )
      assert.strictEqual((yield* Effect.flip(save(stored, 200)))._tag, "LaneChanged")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* save(first, 300, "at_cap")).codeSince, 1000)
      const { stored: read } = yield* lanes.read(hold)
      assert.isUndefined((yield* save(read, 400)).codeSince)
    })
  )

  it.effect("marks the open requests that a foreign transaction could be", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      const [same] = yield* accept(account(1), 1, {
        request: { to: account(2).address, value: 5n, gas_limit: 21_000n }
      })
      const [other] = yield* accept(account(1), 1)
      const { hold, stored } = yield* claimOne
      const foreign = { to: account(2).address, value: 5n, data: "0x", nonce: 0 }
      const marked = yield* lanes.markRestored(hold, stored.chain, foreign)
      assert.deepStrictEqual(idsOf(marked), [same])
      assert.isFalse((yield* (yield* Ledger).get(1, other)).transaction.restored)
    })
  )

  it.effect("has news of what callers did, and wakes those that listen", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      const transactions = yield* Ledger
      const [id] = yield* accept(account(1), 1)
      const { hold } = yield* claimOne
      yield* signAll(hold)
      assert.deepStrictEqual([...(yield* lanes.news([hold.laneId]))], [])
      const heard = yield* Queue.unbounded<void>()
      const listening = yield* Effect.forkScoped(lanes.listen(Effect.asVoid(Queue.offer(heard, undefined))))
      yield* Queue.take(heard)
      yield* transactions.cancel(1, id)
      yield* Queue.take(heard)
      yield* accept(account(1), 1)
      const found = (yield* lanes.news([hold.laneId])).get(hold.laneId)
      assert.deepStrictEqual(found, { newest: 2, commands: new Set([`${id} 1 cancel`]) })
      yield* Fiber.interrupt(listening)
    })
  )

  it.effect("hears of what its own process has accepted", () =>
    Effect.gen(function* () {
      const heard: Array<number> = []
      yield* (yield* LaneLedger).hearAccepted((accepted) =>
        Effect.sync(() => void heard.push(...accepted.map(({ number }) => number)))
      )
      yield* accept(account(1), 2)
      assert.deepStrictEqual(heard, [1, 2])
    })
  )
})

/** An account of stellar. */
const stellar = {
  ...account(1),
  chain: "stellar:local",
  address: "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
}

const payment = {
  operations: [{ type: "payment", destination: stellar.address, amount: 1n, asset: { type: "native" } }]
}

contract("the work of the service in a lane", (it) => {
  it.effect("waits in the lane, and a restore begins once for each request that pays for one", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      const [id] = yield* accept(stellar, 1, { request: payment })
      const [held = assert.fail("no lane is free")] = yield* lanes.claim(["stellar"], 1)
      assert.deepStrictEqual(yield* lanes.waitingForRestore("stellar"), [])
      const [stored = assert.fail("nothing is pending")] = (yield* lanes.read(held.hold)).pending
      const command = Command.Hold({ cause: cause("needs_restore", { fee: 100n }), scope: "transaction" })
      yield* lanes.apply(held.hold, [{ stored, command }])
      assert.deepStrictEqual(yield* lanes.waitingForRestore("stellar"), [{ id, relayer_number: 1 }])
      const request = { restore: { for: id, call: payment } }
      yield* lanes.beginRestore(stellar.chain, id, { id: newId(), request, validUntil: 1000 })
      yield* lanes.beginRestore(stellar.chain, id, { id: newId(), request, validUntil: 1000 })
      const { pending } = yield* lanes.read(held.hold)
      const restores = pending.filter(({ transaction }) => transaction.origin === "restore")
      assert.deepStrictEqual(
        restores.map(({ transaction }) => [transaction.priority, transaction.state]),
        [[1, "pending"]]
      )
      assert.deepStrictEqual(yield* lanes.waitingForRestore("stellar"), [])
    })
  )

  it.effect("on channels begins once, and shows how many of them are not ready", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      assert.isTrue(Option.isNone((yield* lanes.channelsOf(stellar)).lane))
      const work = { request: payment, priority: 1, validUntil: 1000, counters: {}, channels: [] }
      yield* lanes.beginChannelWork(stellar, { ...work, id: newId() })
      yield* lanes.beginChannelWork(stellar, { ...work, id: newId() })
      const { isWorking, failedAt } = yield* lanes.channelsOf(stellar)
      assert.deepStrictEqual([isWorking, failedAt], [true, undefined])
      const [held = assert.fail("no lane is free")] = yield* lanes.claim(["stellar"], 1)
      const { pending } = yield* lanes.read(held.hold)
      assert.deepStrictEqual(
        pending.map(({ transaction }) => transaction.origin),
        ["channel"]
      )
      const [stored = assert.fail("nothing is pending")] = pending
      yield* TestClock.adjust("2 seconds")
      const command = finish({ state: "failed", cause: cause("refused_by_all") })
      yield* lanes.apply(held.hold, [{ stored, command }])
      const ended = yield* lanes.channelsOf(stellar)
      assert.deepStrictEqual([ended.isWorking, ended.failedAt], [false, 2000])
      assert.isTrue(Option.isNone(yield* lanes.channelSeed("GNONE")))
    })
  )
})

contract("what a check has found out about an account", (it) => {
  it.effect("is stored unless another check has stored something since it was read", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* accept(account(1), 1)
      const { lane, chain } = (yield* claimOne).stored
      const key = { chain, address: lane.accounts[0].address }
      const changed = { sequence: 3n, at: 2000, changed: "the code", since: 2000 }
      const unchanged = { sequence: 3n, at: 1000 }
      const stored = Effect.map(
        ledger.laneOf(key),
        Option.map((found) => found.lane.accounts[0].watched)
      )
      assert.isTrue(yield* ledger.watch(key, undefined, unchanged))
      assert.isTrue(yield* ledger.watch(key, unchanged, changed))
      assert.isFalse(yield* ledger.watch(key, unchanged, { ...unchanged, at: 3000 }))
      assert.isFalse(yield* ledger.watch(key, undefined, unchanged))
      assert.deepStrictEqual(yield* stored, Option.some(changed))
      assert.isTrue(yield* ledger.watch(key, changed, { ...unchanged, at: 4000 }))
      assert.deepStrictEqual(yield* stored, Option.some({ sequence: 3n, at: 4000 }))
    })
  )
})
