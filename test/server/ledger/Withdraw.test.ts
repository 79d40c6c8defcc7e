// Cancels that must send nothing: withdrawals of a client that waits no longer for a hash, and cancels only while pending.
import { noncesOf } from "../../../src/networks/evm/rules/Evm.ts"
import { assert } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { accept, account } from "../../../testkit/LedgerRows.ts"
import { Backing, contract } from "./Contract.ts"
import { claimOne, eventsOf, signAll, signature } from "./Fixtures.ts"

const one = Effect.map(accept(account(1), 1), ([id]) => id)

contract("a withdrawal", (it) => {
  it.effect("cancels a transaction without bytes, and returns it as it was", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const id = yield* one
      const before = yield* transactions.get(1, id)
      assert.deepStrictEqual(yield* transactions.withdraw(1, id), Option.some(before))
      assert.strictEqual((yield* transactions.get(1, id)).transaction.state, "canceled")
      assert.deepStrictEqual(yield* eventsOf(id), ["transaction.created", "transaction.canceled"])
      assert.isTrue(Option.isNone(yield* transactions.withdraw(1, id)), "it is final")
      assert.strictEqual((yield* Effect.flip(transactions.withdraw(2, id)))._tag, "TransactionNotFound")
    })
  )

  it.effect("by a caller cancels a transaction that nothing was signed for, and a repetition is answered alike", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const id = yield* one
      const canceled = yield* transactions.cancel(1, id, true)
      assert.strictEqual(canceled.transaction.state, "canceled")
      assert.deepStrictEqual(yield* transactions.cancel(1, id, true), canceled)
      assert.deepStrictEqual(yield* eventsOf(id), ["transaction.created", "transaction.canceled"])
      assert.strictEqual((yield* Effect.flip(transactions.cancel(2, id, true)))._tag, "TransactionNotFound")
    })
  )

  it.effect("by a caller refuses a transaction that was signed, and nothing competes with it", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const id = yield* one
      const { hold } = yield* claimOne
      const [signed] = yield* signAll(hold)
      const refused = yield* Effect.flip(transactions.cancel(1, id, true))
      assert.strictEqual(refused._tag, "TransactionConflict")
      assert.include(refused.message, "was signed")
      assert.deepStrictEqual(yield* transactions.get(1, id), signed)
      assert.strictEqual((yield* transactions.cancel(1, id)).transaction.intent, "cancel", "a usual cancel competes")
      assert.strictEqual((yield* Effect.flip(transactions.cancel(1, id, true)))._tag, "TransactionConflict")
    })
  )

  it.effect("by a caller refuses a transaction that may have been signed before a restore", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const id = yield* one
      yield* (yield* Backing).markRestored
      const before = yield* transactions.get(1, id)
      assert.strictEqual((yield* Effect.flip(transactions.cancel(1, id, true)))._tag, "TransactionConflict")
      assert.deepStrictEqual(yield* transactions.get(1, id), before)
    })
  )

  it.effect("changes nothing about a transaction that was signed", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const id = yield* one
      const { hold } = yield* claimOne
      const [signed] = yield* signAll(hold)
      assert.isTrue(Option.isNone(yield* transactions.withdraw(1, id)))
      assert.deepStrictEqual(yield* transactions.get(1, id), signed)
    })
  )

  it.effect("excludes a signature at the same time: one of the two takes place", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const lanes = yield* LaneLedger
      const first = yield* one
      const { hold } = yield* claimOne
      for (let id = first, round = 0; round < 20; id = yield* one, round++) {
        const { stored, pending } = yield* lanes.read(hold)
        const row = pending[0] ?? assert.fail("nothing is pending")
        const sign = Effect.exit(lanes.commitSignatures(hold, [signature(row, noncesOf(stored.lane).nextNonce)]))
        const [withdrawn, signed] = yield* Effect.all([transactions.withdraw(1, id), sign], { concurrency: 2 })
        const { state, attempts } = (yield* transactions.get(1, id)).transaction
        const isWithdrawn = Option.isSome(withdrawn)
        assert.strictEqual(Exit.isSuccess(signed), !isWithdrawn)
        assert.deepStrictEqual([state, attempts.length], isWithdrawn ? ["canceled", 0] : ["signed", 1])
      }
    })
  )
})
