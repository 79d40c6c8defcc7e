// The backlog of transactions, as metrics show it.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { operatorCodes } from "../../../src/networks/core/Cause.ts"
import * as RelayerTransactionsRepo from "../../../src/server/ledger/RelayerTransactionsRepo.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { account, insert } from "../../../testkit/LedgerRows.ts"
import { claimOne, ledger, signAll } from "./Fixtures.ts"

layerEach(ledger)("the backlog of transactions", (it) => {
  it.effect("counts pending transactions and those in flight, with the oldest of each", () =>
    Effect.gen(function* () {
      const { backlog } = yield* RelayerTransactionsRepo.make
      assert.deepStrictEqual(yield* backlog, [
        { state: "pending", count: 0 },
        { state: "in_flight", count: 0 }
      ])
      yield* TestClock.adjust("1 second")
      yield* insert(account(1), 2)
      yield* signAll((yield* claimOne).hold)
      yield* TestClock.adjust("1 second")
      yield* insert(account(1), 1, { notBefore: 60_000 })
      yield* insert(account(2), 1, { notBefore: 5000 })
      assert.deepStrictEqual(yield* backlog, [
        { state: "pending", count: 2, since: 5000 },
        { state: "in_flight", count: 2, since: 1000 }
      ])
    })
  )

  it.effect("counts open transactions whose code no time ends", () =>
    Effect.gen(function* () {
      const { countCodes } = yield* RelayerTransactionsRepo.make
      const sql = yield* SqlClient.SqlClient
      yield* insert(account(1), 2)
      assert.strictEqual((yield* countCodes(operatorCodes)).size, 0)
      yield* sql`UPDATE transactions SET code = 'restored_unproven'`
      assert.deepStrictEqual([...(yield* countCodes(operatorCodes))], [["restored_unproven", 2]])
    })
  )
})
