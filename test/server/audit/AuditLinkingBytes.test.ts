// Linking large audit records: a transaction is bounded in bytes, so that an instance never reads all of them at once.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as AuditRepo from "../../../src/server/audit/AuditRepo.ts"
import { chain } from "../../../src/server/audit/Chain.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

const insert = (count: number, bytes: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      INSERT INTO audit (key_id, action, resource, resource_id, before, after)
      SELECT 'administrator', 'relayer.updated', 'relayer', 'r', json_build_object('b', repeat('b', ${bytes}::int / 2)),
        json_build_object('a', repeat('a', ${bytes}::int / 2))
      FROM generate_series(1, ${count}::int)`
  )

/** Links everything. Returns how many records each transaction has linked. */
const linkAll = Effect.gen(function* () {
  const repo = yield* AuditRepo.make
  const counts: Array<number> = []
  yield* Effect.repeat(
    repo.link(1000, (rows, head) => {
      counts.push(rows.length)
      return chain(rows, head)
    }),
    { until: (mayHaveMore) => !mayHaveMore }
  )
  return counts
})

layer(TestDatabase.layer)("linking", (it) => {
  it.effect("reads at most about 1 MiB of records in a transaction, and at least one record", () =>
    Effect.gen(function* () {
      yield* insert(25, 128 * 1024)
      yield* insert(2, 3 * 1024 * 1024)
      yield* insert(10, 100)
      const counts = yield* linkAll
      assert.deepStrictEqual(counts, [8, 8, 8, 2, 1, 10])
      const repo = yield* AuditRepo.make
      assert.strictEqual(yield* repo.countUnlinked, 0)
      assert.strictEqual(yield* repo.last, 37)
    })
  )
})
