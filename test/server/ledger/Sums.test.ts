// Sums of final transactions by quarter of an hour: written once for each that ended, and read as statistics of days.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as StatisticsRepo from "../../../src/server/ledger/StatisticsRepo.ts"
import { makeSums } from "../../../src/server/ledger/StatisticsRepo.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

/** Milliseconds. */
const quarter = 900_000
const hour = 4 * quarter

/** The beginning of the present hour or, in its first ten minutes, of the one before it: all quarters before this moment can be summed. */
const begun = "date_trunc('hour', now() - interval '10 minutes')"

/** Confirmed transactions of r1 every minute of a day, and a failed one of r2 each hour. Returns the end of that day, see `begun`. */
const prepare = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* LedgerRows.insertRelayers(2)
  const ids = [
    ...(yield* LedgerRows.insert(LedgerRows.account(1), 1440)),
    ...(yield* LedgerRows.insert(LedgerRows.account(2), 24))
  ]
  yield* sql`
    UPDATE transactions t SET state = CASE WHEN n <= 1440 THEN 'confirmed' ELSE 'failed' END, final_at = at,
      code = CASE WHEN n <= 1440 THEN 'confirmed' ELSE 'reverted' END, created_at = at - n % 100 * interval '1 second',
      nonce = n, receipt = CASE WHEN n <= 1440 THEN '{}'::json END
    FROM unnest(${ids}::uuid[]) WITH ORDINALITY AS given (id, n),
      LATERAL (SELECT ${sql.literal(begun)} - CASE WHEN n <= 1440 THEN n * interval '1 minute'
        ELSE (n - 1440) * interval '1 hour' END AS at) moments
    WHERE t.id = given.id`
  const [row] = yield* sql<{ readonly at: number; readonly first: number }>`
    SELECT (extract(epoch FROM ${sql.literal(begun)}) * 1000)::float8 AS at, min(seq)::float8 AS first FROM relayers`
  return row ?? assert.fail("no row")
})

const dayBefore = (at: number, step: number) => ({ since: at - 24 * hour, step, steps: (24 * hour) / step + 1 })

layerEach(TestApi.layer())("sums of final transactions", (it) => {
  it.effect("equal the transactions, whether all, some or none of the quarters were summed", () =>
    Effect.gen(function* () {
      const { at, first } = yield* prepare
      const sql = yield* SqlClient.SqlClient
      const { sumAll, summedSteps } = yield* makeSums
      const { finalSteps } = yield* StatisticsRepo.make
      const ordered = <Row extends { readonly at: number }>(rows: ReadonlyArray<Row>) =>
        rows.toSorted((one, other) => one.at - other.at)
      const countsOf = (rows: ReadonlyArray<StatisticsRepo.FinalStep>) =>
        ordered(rows).map(({ at, confirmed, failed, canceled, expired }) => [at, confirmed, failed, canceled, expired])
      const compare = Effect.fnUntraced(function* (note: string) {
        for (const step of [quarter, hour, 24 * hour]) {
          for (const numbers of [undefined, [first], [first + 1], [first, first + 1]]) {
            const series = dayBefore(at, step)
            const counted = ordered(yield* finalSteps(series, numbers))
            const summed = ordered(yield* summedSteps(series, numbers))
            assert.isNotEmpty(counted)
            assert.deepStrictEqual(countsOf(summed), countsOf(counted), note)
            for (const [index, { p50_ms, p95_ms }] of counted.entries()) {
              for (const [exact, found] of [
                [p50_ms, summed[index]?.p50_ms],
                [p95_ms, summed[index]?.p95_ms]
              ] as const) {
                if (exact === undefined) assert.isUndefined(found)
                else assert.closeTo(found ?? 0, exact, exact / 10 + 1)
              }
            }
          }
        }
      })
      yield* sumAll
      yield* compare("all are summed")
      const rows = sql`SELECT relayer_number, at, confirmed, counts FROM transaction_sums ORDER BY 1, 2`
      const before = yield* rows
      yield* sumAll
      assert.deepStrictEqual(yield* rows, before, "each is summed once")
      yield* sql`DELETE FROM transaction_sums WHERE at >= to_timestamp(${at - 4 * hour}::float8 / 1000)`
      yield* compare("the last four hours are counted")
      yield* sumAll
      yield* compare("the rest is summed")
    })
  )

  it.effect("have a row for each quarter since the first one, and outlive their transactions for eight days", () =>
    Effect.gen(function* () {
      const { at } = yield* prepare
      const sql = yield* SqlClient.SqlClient
      const { sumAll, summedSteps, prune } = yield* makeSums
      yield* sumAll
      yield* sql`DELETE FROM transactions`
      const total = Effect.map(summedSteps(dayBefore(at, hour), undefined), (rows) =>
        rows.reduce((all, { confirmed, failed }) => all + confirmed + failed, 0)
      )
      assert.strictEqual(yield* total, 1464)
      const [gaps] = yield* sql<{ readonly gaps: number }>`
        SELECT count(*)::float8 AS gaps FROM (
          SELECT at - lag(at) OVER (ORDER BY at) AS past FROM transaction_sums WHERE relayer_number = 0) s
        WHERE past <> interval '15 minutes'`
      assert.strictEqual(gaps?.gaps, 0)
      assert.strictEqual(yield* prune(10_000), 0)
      yield* sql`UPDATE transaction_sums SET at = at - interval '8 days'`
      assert.isAbove(yield* prune(10_000), 100)
      assert.strictEqual(yield* total, 0)
    })
  )

  it.effect("begin with the present quarter in an empty database, which is summed when it has ended", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { sumAll } = yield* makeSums
      yield* sumAll
      assert.isEmpty(yield* sql`SELECT 1 FROM transaction_sums`)
    })
  )
})
