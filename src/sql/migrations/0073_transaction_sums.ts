// Creates the table of final transactions by quarter of an hour, for statistics of days.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // Transactions that became final in the quarter of an hour that begins `at`. `relayer_number` 0: of all relayers; every quarter
    // that was summed has this row. `buckets` and `counts`: how many confirmed ones took how long (`SumsRepo`). No foreign key: a sum
    // outlives its relayer.
    yield* sql`
      CREATE TABLE transaction_sums (
        relayer_number bigint NOT NULL,
        at timestamptz NOT NULL,
        confirmed integer NOT NULL,
        failed integer NOT NULL,
        canceled integer NOT NULL,
        expired integer NOT NULL,
        buckets smallint[] NOT NULL,
        counts integer[] NOT NULL CHECK (cardinality(counts) = cardinality(buckets)),
        PRIMARY KEY (relayer_number, at)
      )`
    yield* sql`CREATE INDEX transaction_sums_at_idx ON transaction_sums (at)`
  })
)
