// What the open transactions of a lane amount to: how many there are, and how much they can cost.
import { evmOf } from "../../../testkit/EvmRows.ts"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { LedgerRules } from "../../../src/server/ledger/LedgerEntries.ts"
import { transactionColumnsWithoutData, transactionReader } from "../../../src/server/ledger/TransactionsRepo.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { accept, account, insert } from "../../../testkit/LedgerRows.ts"
import { contract } from "./Contract.ts"
import { claimOne, ledger, sentOf, signAll } from "./Fixtures.ts"

const gwei = 10n ** 9n

/** Wei of the first attempt of `Fixtures.ts`. */
const firstFee = 21_000n * 10n * gwei

/** The largest call data. */
const data = `0x${"ab".repeat(131_072)}`

const largeRequest = { to: account(2).address, value: 7n, gas_limit: 21_000n, data }
const large = { request: largeRequest }

contract("the totals of a lane", (it) => {
  it.effect("are zero for an account that has sent nothing", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      assert.deepStrictEqual(yield* transactions.countLane(account(1)), { pending: 0, inFlight: 0 })
      assert.strictEqual(yield* transactions.reserved(account(1)), 0n)
    })
  )

  it.effect("count every open transaction, however many there are", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      yield* accept(account(1), 3)
      const { hold } = yield* claimOne
      const [signed] = yield* signAll(hold)
      if (signed === undefined) return assert.fail("nothing was signed")
      yield* (yield* LaneLedger).recordSends(hold, [sentOf(signed, true)])
      yield* accept(account(1), 2000)
      yield* accept(account(2), 5)
      assert.deepStrictEqual(yield* transactions.countLane(account(1)), {
        pending: 2000,
        inFlight: 3,
        oldestSequence: 0n
      })
      assert.deepStrictEqual(yield* transactions.countLane(account(2)), { pending: 5, inFlight: 0 })
    })
  )

  it.effect("reserve what transactions in flight can cost; pending ones reserve nothing", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      yield* accept(account(1), 3, large)
      assert.strictEqual(yield* transactions.reserved(account(1)), 0n)
      const { hold } = yield* claimOne
      yield* signAll(hold)
      yield* accept(account(1), 2, large)
      assert.strictEqual(yield* transactions.reserved(account(1)), 3n * (firstFee + 7n))
    })
  )
})

layerEach(ledger)("the totals of a lane in a database", (it) => {
  it.effect("are read without call data, in every version of a request", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const [id] = yield* insert(account(1), 1, large)
      if (id === undefined) return assert.fail("nothing was inserted")
      yield* transactions.replace(1, id, { ...largeRequest, value: 9n })
      const rows = yield* sql`
        SELECT ${transactionColumnsWithoutData(sql)} FROM transactions t JOIN lanes l ON l.id = t.lane_id`
      assert.isBelow(JSON.stringify(rows).length, 4000)
      const [stored] = yield* transactionReader(yield* LedgerRules)(rows)
      assert.deepStrictEqual(stored && evmOf(stored).transaction.versions.map(({ value }) => value), [7n, 9n])
    })
  )
})
