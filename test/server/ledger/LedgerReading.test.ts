// Lists and counts of transactions in the ledger.
import { assert } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { cause } from "../../../src/networks/core/Cause.ts"
import { Command, finish, mine } from "../../../src/networks/core/Rules.ts"
import type { SelectedTransactions } from "../../../src/server/ledger/LedgerReads.ts"
import { accept, account } from "../../../testkit/LedgerRows.ts"
import { contract } from "./Contract.ts"
import { claimOne, eventsOf, signAll, signature } from "./Fixtures.ts"

const numbersOf = ({ transactions }: SelectedTransactions) => transactions.map(({ transaction }) => transaction.number)

contract("lists of transactions", (it) => {
  it.effect("go from the newest to the oldest, in pages by offset or after a number", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      yield* accept(account(1), 5)
      yield* accept(account(2), 1)
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
      yield* accept(account(1), 1, { externalId: "one" })
      yield* TestClock.adjust("1 hour")
      yield* accept(account(1), 1)
      yield* TestClock.adjust("1 hour")
      yield* accept(account(1), 1)
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
      assert.deepStrictEqual(yield* numbers({ hashes: [hash] }), [1])
      assert.deepStrictEqual(yield* numbers({ createdAfter: 3_600_000 }), [3, 2])
      assert.deepStrictEqual(yield* numbers({ createdBefore: 3_600_000 }), [1])
      assert.deepStrictEqual(yield* numbers({ createdAfter: 3_600_000, createdBefore: 7_200_000 }), [2])
      assert.deepStrictEqual(yield* numbers({ createdAfter: 9_000_000 }), [])
      assert.deepStrictEqual(yield* numbers({ origin: "gap" }), [])
      assert.strictEqual((yield* transactions.bySequence(1, 0n)).id, first.id)
      assert.strictEqual((yield* Effect.flip(transactions.bySequence(1, 1n)))._tag, "TransactionNotFound")
      assert.strictEqual((yield* Effect.flip(transactions.bySequence(2, 0n)))._tag, "TransactionNotFound")
    })
  )
})

contract("a status", (it) => {
  it.effect("knows how many transactions are open, and when the last one was confirmed", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const lanes = yield* LaneLedger
      yield* accept(account(1), 2)
      assert.isTrue(Option.isNone(yield* transactions.lastConfirmed(1)))
      const { hold } = yield* claimOne
      const [first] = yield* signAll(hold)
      if (first === undefined) return
      yield* TestClock.adjust("5 seconds")
      const receipt = {
        height: 5,
        blockHash: "0x05",
        isSuccess: true,
        paid: 42_000n,
        details: { gasUsed: 21_000n, effectiveGasPrice: 2n }
      }
      const recorded = mine({ mined: { ordinal: 1, receipt }, state: "mined", cause: cause("mined_waiting") })
      const [mined] = yield* lanes.apply(hold, [{ stored: first, command: recorded }])
      if (mined === undefined) return
      const ended = finish({ state: "confirmed", cause: cause("confirmed", { block: 5 }) })
      const [confirmed] = yield* lanes.apply(hold, [{ stored: mined, command: ended }])
      assert.strictEqual(confirmed?.confirmedAt, 5000)
      assert.deepStrictEqual(yield* transactions.get(1, first.id), confirmed)
      assert.strictEqual(Option.getOrThrow(yield* transactions.lastConfirmed(1)), 5000)
      assert.strictEqual(yield* transactions.countOpen(1), 1)
      assert.deepStrictEqual(yield* eventsOf(first.id), [
        "transaction.created",
        "transaction.signed",
        "transaction.mined",
        "transaction.confirmed"
      ])
    })
  )
})

contract("what goes first", (it) => {
  it.effect("is the pending transaction whose turn is first, and of a relayer the first one that waits", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const lanes = yield* LaneLedger
      yield* accept(account(1), 3)
      yield* accept(account(2), 1)
      const { hold } = yield* claimOne
      const { pending } = yield* lanes.read(hold)
      const [first, second, third] = pending
      if (first === undefined || second === undefined || third === undefined) return assert.fail("three are pending")
      const ahead = (id: typeof first.id) =>
        Effect.map(transactions.firstAhead(first.laneId, id), (found) => Option.getOrUndefined(found)?.id)
      assert.deepStrictEqual(yield* Effect.forEach([first, second, third], ({ id }) => ahead(id)), [
        undefined,
        first.id,
        first.id
      ])
      const waiting = Effect.map(transactions.firstWaiting(1), (found) => Option.getOrUndefined(found)?.id)
      assert.isUndefined(yield* waiting)
      const held = (stored: typeof first, code: "insufficient_funds" | "relayer_paused") =>
        lanes.apply(hold, [{ stored, command: Command.Hold({ cause: cause(code), scope: "transaction" }) }])
      yield* held(first, "relayer_paused")
      yield* held(third, "insufficient_funds")
      assert.strictEqual(yield* waiting, third.id)
      yield* held(second, "insufficient_funds")
      assert.strictEqual(yield* waiting, second.id)
      assert.isTrue(Option.isNone(yield* transactions.firstWaiting(2)))
    })
  )
})
