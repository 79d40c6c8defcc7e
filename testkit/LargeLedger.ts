// A database with many transactions, and the number of its pages that an effect touches.
import { Cause, Deferred, Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as LedgerRows from "./LedgerRows.ts"

export const relayers = 1000

/** Every hundredth relayer has open transactions: two pending ones, and one in flight. */
const held = 100

/** Runs `self` while a table has no indexes but those of its constraints. To build the others afterwards is faster than to extend them. */
const withoutIndexes = Effect.fnUntraced(function* <A, E, R>(table: string, self: Effect.Effect<A, E, R>) {
  const sql = yield* SqlClient.SqlClient
  const indexes = yield* sql<{ readonly name: string; readonly definition: string }>`
    SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition FROM pg_index i
    WHERE i.indrelid = ${table}::text::regclass AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)`
  yield* Effect.forEach(indexes, ({ name }) => sql`DROP INDEX ${sql(name)}`)
  const value = yield* self
  yield* Effect.forEach(indexes, ({ definition }) => sql.unsafe(definition))
  return value
})

/** Waits until no other transaction of the database runs, such as an analysis by autovacuum. */
const whenAlone = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.repeat(
    sql`
      SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND num_nonnulls(backend_xid, backend_xmin) > 0`,
    { until: (others) => others.length === 0 }
  )
)

/**
 * Removes the versions of rows that were replaced, marks the pages whose rows an index shows alone, and brings the statistics of the planner
 * up to date. VACUUM passes over what changed after the oldest running transaction had begun, so this waits until none runs.
 */
export const vacuum = Effect.fnUntraced(function* (...tables: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  yield* whenAlone
  yield* sql`VACUUM ANALYZE ${sql.join(", ", false)(tables.map((table) => sql`${sql(table)}`))}`
})

/** Final transactions of `relayers` relayers, and some open ones with codes. Without triggers, which would take minutes. */
export const fill = Effect.fnUntraced(function* (transactions: number) {
  const sql = yield* SqlClient.SqlClient
  yield* LedgerRows.insertRelayers(relayers)
  yield* sql`
    INSERT INTO lanes (chain, address, window_size)
    SELECT 'evm:11155111', '0x' || lpad(i::text, 40, '0'), 64 FROM generate_series(1, ${relayers}::int) i`
  yield* withoutIndexes(
    "transactions",
    sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`SET LOCAL session_replication_role = replica`
        yield* sql`
          INSERT INTO transactions (id, relayer_id, relayer_number, lane_id, request, facts, state, code, code_since, nonce,
            mined_attempt, external_id, request_id, valid_until, created_at, sent_at, mined_at, final_at)
          SELECT gen_random_uuid(), 'r' || r, r, r, '{"to":"0x00","value":"1"}', '{}', 'confirmed', 'confirmed', at, i, 1,
            'order-' || i, 'request-' || i, at, at, at, at, at
          FROM generate_series(1, ${transactions}::int) i,
            LATERAL (SELECT i % ${relayers}::int + 1 AS r, now() - (${transactions}::int - i) * interval '0.6 seconds' AS at) given`
        yield* sql`
          INSERT INTO transactions (id, relayer_id, relayer_number, lane_id, request, facts, state, code, code_since, figures, nonce,
            external_id, valid_until, created_at)
          SELECT gen_random_uuid(), 'r' || r, r, r, '{"to":"0x00","value":"1"}', '{}', state, code, now(), '{}',
            CASE WHEN state = 'pending' THEN NULL ELSE ${transactions}::int + 1 END, 'open-' || r || code, now() + interval '1 day', now()
          FROM generate_series(${held}::int, ${relayers}::int, ${held}::int) r,
            (VALUES ('pending', 'insufficient_funds'), ('pending', 'queued'), ('submitted', 'in_pool')) given (state, code)`
      })
    )
  )
  yield* whenAlone
  yield* sql`VACUUM ANALYZE`
})

/** How many transactions `fill` holds with each of its codes. */
export const withEachCode = relayers / held

/**
 * Runs `self` with the statistics that a vacuum leaves which found the tables empty: the planner expects one row in each. A table that
 * retention has emptied is so until the first analysis after it was filled again. Everything that `self` writes is rolled back.
 */
export const withStatisticsOfEmptyTables = Effect.fnUntraced(function* <A, E, R>(self: Effect.Effect<A, E, R>) {
  const sql = yield* SqlClient.SqlClient
  const result = yield* Deferred.make<A, E>()
  const run = Effect.gen(function* () {
    yield* sql`
      UPDATE pg_class SET reltuples = 0, relpages = 1
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')`
    yield* sql`
      DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)`
    yield* Deferred.complete(result, self)
    return yield* new Cause.NoSuchElementError("the transaction is rolled back")
  })
  yield* Effect.catchTag(sql.withTransaction(run), "NoSuchElementError", () => Effect.void)
  return yield* Deferred.await(result)
})

const fetched = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly pages: number }>`
    SELECT sum(pg_stat_get_xact_blocks_fetched(c.oid))::float8 AS pages FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'i')`
  return row?.pages ?? 0
})

/**
 * The pages of tables and indexes that the queries of `self` touch, as EXPLAIN (BUFFERS) counts them, and its result. All of its
 * queries have to be part of the running transaction.
 */
export const pagesOf = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.withTransaction(
      Effect.gen(function* () {
        const before = yield* fetched
        const value = yield* self
        return { value, pages: (yield* fetched) - before }
      })
    )
  )
