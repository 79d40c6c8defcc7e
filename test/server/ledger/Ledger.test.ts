// Lists, cancels, replacements, and the commands of operators.
import { assert } from "@effect/vitest"
import { Array, Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql"
import { Command } from "../../../src/domain/transaction/Command.ts"
import { cause } from "../../../src/domain/transaction/Cause.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import type { SelectedTransactions } from "../../../src/server/ledger/Selection.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { account, claimOne, eventsOf, insert, ledger, sentOf, signAll, signature } from "./Fixtures.ts"

const actions = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql<{ readonly action: string }>`SELECT action FROM audit ORDER BY id`, (rows) =>
    rows.map(({ action }) => action)
  )
)

const numbersOf = ({ transactions }: SelectedTransactions) => transactions.map(({ transaction }) => transaction.number)

layerEach(ledger)("lists of transactions", (it) => {
  it.effect("go from the newest to the oldest, in pages by offset or after a number", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      yield* insert(account(1), 5)
      yield* insert(account(2), 1)
      const filter = { relayerNumbers: [1] }
      const all = numbersOf(yield* transactions.select({ filter, limit: 10 }))
      assert.deepStrictEqual(all, [5, 4, 3, 2, 1])
      assert.deepStrictEqual(numbersOf(yield* transactions.select({ filter, limit: 2, offset: 2 })), [3, 2])
      assert.deepStrictEqual(numbersOf(yield* transactions.select({ filter, limit: 2, after: 4 })), [3, 2])
      assert.strictEqual(yield* transactions.count(filter), 5)
      assert.strictEqual(yield* transactions.count({}), 6)
    })
  )

  it.effect("filter by state, external_id, hash and moment", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      yield* insert(account(1), 1, { externalId: "one" })
      yield* TestClock.adjust("1 hour")
      yield* insert(account(1), 1)
      yield* TestClock.adjust("1 hour")
      yield* insert(account(1), 1)
      const { hold } = yield* claimOne
      const lanes = yield* LaneLedger
      const { pending } = yield* lanes.read(hold)
      const [first] = pending
      if (first === undefined) return assert.fail("nothing is pending")
      const [signed] = yield* lanes.commitSignatures(hold, [signature(first, 0)])
      const hash = signed?.transaction.attempts[0]?.hash ?? ""
      const numbers = (filter: Parameters<typeof transactions.count>[0]) =>
        Effect.map(transactions.select({ filter, limit: 10 }), numbersOf)
      assert.deepStrictEqual(yield* numbers({ states: ["pending"] }), [3, 2])
      assert.deepStrictEqual(yield* numbers({ states: ["signed", "mined"] }), [1])
      assert.deepStrictEqual(yield* numbers({ externalId: "one" }), [1])
      assert.deepStrictEqual(yield* numbers({ hash }), [1])
      assert.deepStrictEqual(yield* numbers({ createdAfter: 3_600_000 }), [3, 2])
      assert.deepStrictEqual(yield* numbers({ createdBefore: 3_600_000 }), [1])
      assert.deepStrictEqual(yield* numbers({ createdAfter: 3_600_000, createdBefore: 7_200_000 }), [2])
      assert.deepStrictEqual(yield* numbers({ createdAfter: 9_000_000 }), [])
      assert.deepStrictEqual(yield* numbers({ origin: "gap" }), [])
      assert.strictEqual((yield* transactions.byNonce(1, 0)).id, first.id)
      assert.strictEqual((yield* Effect.flip(transactions.byNonce(1, 1)))._tag, "TransactionNotFound")
      assert.strictEqual((yield* Effect.flip(transactions.byNonce(2, 0)))._tag, "TransactionNotFound")
    })
  )
})

layerEach(ledger)("a cancel", (it) => {
  it.effect("ends a pending transaction at once, and says so once", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const [id] = yield* insert(account(1), 1)
      if (id === undefined) return
      const canceled = yield* transactions.cancel(1, id)
      assert.strictEqual(canceled.transaction.state, "canceled")
      assert.deepStrictEqual(yield* transactions.get(1, id), canceled)
      assert.strictEqual((yield* Effect.flip(transactions.cancel(1, id)))._tag, "TransactionConflict")
      assert.strictEqual((yield* Effect.flip(transactions.cancel(2, id)))._tag, "TransactionNotFound")
      assert.deepStrictEqual(yield* eventsOf(id), ["transaction.canceled"])
      assert.deepStrictEqual(yield* actions, ["transaction.canceled"])
    })
  )

  it.effect("of a signed transaction is its intent, which the holder of the lane finds", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const lanes = yield* LaneLedger
      const [id] = yield* insert(account(1), 1)
      const { hold } = yield* claimOne
      const [signed] = yield* signAll(hold)
      if (id === undefined || signed === undefined) return
      const canceled = yield* transactions.cancel(1, id)
      assert.deepInclude(canceled.transaction, { state: "signed", intent: "cancel" })
      assert.deepStrictEqual(yield* transactions.cancel(1, id), canceled, "a second cancel changes nothing")
      const stale = lanes.commitSignatures(hold, [signature(signed, 0, { kind: "bump" })])
      assert.strictEqual((yield* Effect.flip(stale))._tag, "LaneChanged")
      const [recorded] = yield* lanes.recordSends(hold, [sentOf(signed, true)])
      assert.deepInclude(recorded?.transaction, { state: "submitted", intent: "cancel" })
      const { inFlight } = yield* lanes.read(hold)
      assert.deepStrictEqual(inFlight[0], recorded)
    })
  )
})

layerEach(ledger)("a replacement", (it) => {
  it.effect("adds a version and keeps the former ones", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const [id] = yield* insert(account(1), 1)
      if (id === undefined) return
      const replaced = yield* transactions.replace(1, id, { to: account(2).address, value: 2n })
      const twice = yield* transactions.replace(1, id, { value: 3n, data: "0x00" })
      assert.deepStrictEqual(
        replaced.transaction.versions.map(({ value }) => value),
        [1n, 2n]
      )
      assert.deepStrictEqual(
        twice.transaction.versions.map(({ value }) => value),
        [1n, 2n, 3n]
      )
      assert.deepStrictEqual(yield* transactions.get(1, id), twice)
      assert.deepStrictEqual(yield* actions, ["transaction.replaced", "transaction.replaced"])
      yield* transactions.cancel(1, id)
      assert.strictEqual((yield* Effect.flip(transactions.replace(1, id, { value: 4n })))._tag, "TransactionConflict")
    })
  )

  it.effect("with fees has to replace what was sent, and names the field", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const [id] = yield* insert(account(1), 1)
      const { hold } = yield* claimOne
      yield* signAll(hold)
      if (id === undefined) return
      const low = { value: 1n, max_fee_per_gas: 10n, max_priority_fee_per_gas: 1n }
      const refused = yield* Effect.flip(transactions.replace(1, id, low))
      assert.strictEqual(refused._tag, "BadRequest")
      assert.lengthOf((yield* transactions.get(1, id)).transaction.versions, 1)
    })
  )
})

layerEach(ledger)("an operator", (it) => {
  it.effect("decides about restored transactions, one or all, of its relayer alone", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const [one, two] = yield* insert(account(1), 2)
      const [other] = yield* insert(account(2, 1), 1)
      yield* sql`UPDATE transactions SET restored = true`
      if (one === undefined || two === undefined || other === undefined) return
      const given = { answer: "give_up", id: one } as const
      const [ended] = yield* transactions.resync(account(1), given)
      assert.deepInclude(ended?.transaction, { state: "failed" })
      assert.strictEqual((yield* Effect.flip(transactions.resync(account(1), given)))._tag, "TransactionConflict")
      assert.strictEqual(
        (yield* Effect.flip(transactions.resync(account(1), { answer: "send", id: other })))._tag,
        "TransactionNotFound"
      )
      const sent = yield* transactions.resync(account(1), { answer: "send" })
      assert.deepStrictEqual(
        sent.map(({ id, transaction }) => [id, transaction.restored]),
        [[two, false]]
      )
      assert.isTrue((yield* transactions.get(2, other)).transaction.restored)
      const lane = Option.getOrThrow(yield* transactions.laneOf(account(1)))
      assert.isTrue(lane.trustsCount)
      assert.deepStrictEqual(yield* actions, ["nonce.resynced", "nonce.resynced"])
    })
  )

  it.effect("clears nonces, which end as failed with no-ops", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      yield* insert(account(1), 3)
      const { hold } = yield* claimOne
      yield* signAll(hold)
      const cleared = yield* transactions.clear(account(1), 1, 5)
      assert.deepStrictEqual(
        cleared.map(({ transaction: { nonce, intent } }) => [nonce, intent]),
        [
          [1, "clear"],
          [2, "clear"]
        ]
      )
      assert.deepStrictEqual(yield* transactions.clear(account(1), 1, 5), [])
    })
  )

  it.effect("begins a generation: bytes of the former one are given up, and the lane starts with nonce 0", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const lanes = yield* LaneLedger
      yield* insert(account(1), 1)
      const { hold } = yield* claimOne
      yield* signAll(hold)
      const [pending] = yield* insert(account(1), 1)
      const ended = yield* transactions.beginGeneration(account(1))
      assert.deepStrictEqual(
        ended.map(({ transaction }) => [transaction.state, transaction.cause?.code]),
        [["failed", "chain_changed"]]
      )
      assert.strictEqual((yield* Effect.flip(lanes.read(hold)))._tag, "LaneLost")
      const next = yield* claimOne
      assert.deepInclude(next.stored.lane, { generation: 1, nextNonce: 0 })
      const contents = yield* lanes.read(next.hold)
      assert.deepStrictEqual(
        contents.pending.map(({ id }) => id),
        [pending]
      )
      const [signed] = yield* lanes.commitSignatures(
        next.hold,
        Array.map([contents.pending[0] ?? assert.fail("none")] as const, (row) => signature(row, 0, { generation: 1 }))
      )
      assert.deepInclude(signed?.transaction, { nonce: 0, generation: 1 })
      assert.strictEqual((yield* transactions.byNonce(1, 0)).id, pending)
    })
  )
})

layerEach(ledger)("a status", (it) => {
  it.effect("knows how many transactions are open, and when the last one was confirmed", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const lanes = yield* LaneLedger
      yield* insert(account(1), 2)
      assert.isTrue(Option.isNone(yield* transactions.lastConfirmed(1)))
      const { hold } = yield* claimOne
      const [first] = yield* signAll(hold)
      if (first === undefined) return
      yield* TestClock.adjust("5 seconds")
      const receipt = {
        blockNumber: 5,
        blockHash: "0x05",
        isSuccess: true,
        gasUsed: 21_000n,
        effectiveGasPrice: 2n
      }
      const mine = Command.Mine({ mined: { ordinal: 1, receipt }, state: "mined", cause: cause("mined_waiting") })
      const [mined] = yield* lanes.apply(hold, [{ stored: first, command: mine }])
      if (mined === undefined) return
      const finish = Command.Finish({ state: "confirmed", cause: cause("confirmed", { block: 5 }) })
      const [confirmed] = yield* lanes.apply(hold, [{ stored: mined, command: finish }])
      assert.strictEqual(confirmed?.confirmedAt, 5000)
      assert.deepStrictEqual(yield* transactions.get(1, first.id), confirmed)
      assert.strictEqual(Option.getOrThrow(yield* transactions.lastConfirmed(1)), 5000)
      assert.strictEqual(yield* transactions.countOpen(1), 1)
      assert.deepStrictEqual(yield* eventsOf(first.id), [
        "transaction.signed",
        "transaction.mined",
        "transaction.confirmed"
      ])
    })
  )
})
