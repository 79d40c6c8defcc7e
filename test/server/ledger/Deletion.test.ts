// What deletes transactions, and what open ones keep from being deleted.
import { assert, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { makeTransactionRetention } from "../../../src/server/ledger/LedgerJobs.ts"
import { evmRelayer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { account, insert, newTransaction } from "../../../testkit/LedgerRows.ts"
import { ledger } from "./Fixtures.ts"

const prepared = Prepared.layer(Effect.andThen(Prepared.references, Prepared.create("relayers", evmRelayer)))

layer(prepared)("a relayer with open transactions", (it) => {
  it.effect("is deleted only when they are final, and they stay", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      const transactions = yield* Ledger
      const [relayer] = yield* sql<{ id: string; seq: number }>`SELECT id, seq::float8 AS seq FROM relayers`
      if (relayer === undefined) return assert.fail("no relayer")
      const of = { ...account(1), relayerId: RelayerId.make(relayer.id), relayerNumber: relayer.seq }
      const [{ stored }] = yield* transactions.accept(of, [newTransaction(0)])
      const refused = yield* call(`/api/v1/relayers/${relayer.id}`, { method: "DELETE" })
      assert.strictEqual(refused.status, 409, refused.text)
      assert.include(refused.json.error, "open transactions: 1")
      yield* transactions.cancel(relayer.seq, stored.id)
      const deleted = yield* call(`/api/v1/relayers/${relayer.id}`, { method: "DELETE" })
      assert.strictEqual(deleted.status, 200, deleted.text)
      assert.strictEqual((yield* transactions.get(relayer.seq, stored.id)).transaction.state, "canceled")
    })
  )
})

layerEach(ledger)("the retention", (it) => {
  it.effect("deletes old final transactions with their attempts, in batches, and no open ones", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { prune } = yield* makeTransactionRetention
      yield* insert(account(1), 5)
      yield* sql`
        UPDATE transactions SET state = 'canceled', final_at = now() - number * interval '1 day' WHERE number <= 4`
      yield* sql`
        INSERT INTO transaction_requests (transaction_id, version, request) SELECT id, 1, request FROM transactions`
      const left = Effect.map(
        sql<{ number: number }>`SELECT number::int AS number FROM transactions ORDER BY 1`,
        (rows) => rows.map(({ number }) => number)
      )
      const age = Duration.hours(36)
      assert.strictEqual(yield* prune(age, 2), 2)
      assert.deepStrictEqual(yield* left, [1, 2, 5], "the oldest first")
      assert.strictEqual(yield* prune(age, 2), 1)
      assert.deepStrictEqual(yield* left, [1, 5])
      assert.lengthOf(yield* sql`SELECT 1 FROM transaction_requests`, 2)
    })
  )
})
