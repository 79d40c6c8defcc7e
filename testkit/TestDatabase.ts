// A database for one test or one layer: a copy of the migrated template, or one that an earlier test gave back in the state of a copy.
import { PgClient } from "@effect/sql-pg"
import { Effect, Exit, Layer, Schema, Scope } from "effect"
import type { Context } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import { inject } from "vitest"
import { clientConfig, namePrefix, template } from "./Postgres.ts"

const connected = <A, E>(database: string, use: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.scoped(
    use.pipe(Effect.provide(PgClient.layer({ ...clientConfig(inject("postgres"), database), maxConnections: 1 })))
  )

/** By the clock of the machine: the pool of connections outlives the test, and the test clock stands still. */
const byRealTime = <A, E>(self: Effect.Effect<A, E>) => Effect.promise(() => Effect.runPromise(self))

/** The connections of this worker that create and drop databases, until it ends. A new one takes as long as to drop a database. */
const administration = Effect.runSync(
  Effect.cached(
    byRealTime(
      Effect.flatMap(Scope.make(), (scope) =>
        Layer.buildWithScope(
          PgClient.layer({ ...clientConfig(inject("postgres"), "postgres"), maxConnections: 2 }),
          scope
        )
      )
    )
  )
)

const onServer = (use: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(administration, (clients) => Effect.provide(Effect.flatMap(SqlClient.SqlClient, use), clients))

/** Copies the files of the template, in half the processor time of the default strategy, which copies through the log. */
const create = Effect.gen(function* () {
  const name = `${namePrefix(inject("postgres"))}${randomBytes(8).toString("hex")}`
  yield* onServer((sql) => sql`CREATE DATABASE ${sql(name)} TEMPLATE ${sql(template)} STRATEGY FILE_COPY`)
  return name
}).pipe(Effect.orDie)

const drop = (name: string) => Effect.ignore(onServer((sql) => sql`DROP DATABASE ${sql(name)} WITH (FORCE)`))

/** Creates a copy and gives its name. */
export const make = Effect.acquireRelease(create, drop)

/** Creates a database without a schema and gives its name. */
export const makeEmpty = Effect.tap(make, (name) =>
  connected(
    name,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`DROP SCHEMA public CASCADE`
      yield* sql`CREATE SCHEMA public`
    })
  )
)

/** The sessions have this name on the server; `effect-relayer` is the name of the service. */
export const layerNamed = (applicationName: string) =>
  Layer.unwrap(
    Effect.map(make, (name) => PgClient.layer({ ...clientConfig(inject("postgres"), name), applicationName }))
  )

/** A database with its pool of connections, which tests use one after another. */
interface Shared {
  readonly scope: Scope.Closeable
  readonly clients: Context.Context<PgClient.PgClient | SqlClient.SqlClient>
  readonly tables: ReadonlyArray<string>
  /** What `stateOf` gives for a copy of the template. */
  readonly state: State
}

/** Rows are those of the tables that have any, as JSON. */
const State = Schema.Struct({
  rows: Schema.Record(Schema.String, Schema.String),
  sequences: Schema.String,
  schema: Schema.String,
  locks: Schema.Int
})
type State = typeof State.Type

/** All that a test can leave behind: rows, numbers of sequences, a changed schema, and locks of sessions. */
const stateOf = Effect.fnUntraced(function* (tables: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const rows = tables.map(
    (table) => `SELECT '${table}' AS name, (SELECT jsonb_agg(t ORDER BY t::text) FROM "${table}" t)::text AS rows`
  )
  const [found] = yield* sql.unsafe(`
    SELECT
      (SELECT jsonb_object_agg(name, rows) FILTER (WHERE rows IS NOT NULL) FROM (${rows.join(" UNION ALL ")}) given) AS rows,
      (SELECT string_agg(schemaname || sequencename || coalesce(last_value::text, ''), ' ' ORDER BY 1) FROM pg_sequences) AS sequences,
      md5(concat(
        (SELECT string_agg(concat(oid, relname, relkind, relnamespace), ' ' ORDER BY oid) FROM pg_class WHERE oid >= 16384),
        (SELECT string_agg(concat(attrelid, attname, atttypid, attnotnull, attisdropped), ' ' ORDER BY attrelid, attnum)
          FROM pg_attribute WHERE attrelid >= 16384),
        (SELECT string_agg(concat(oid, tgname, tgenabled), ' ' ORDER BY oid) FROM pg_trigger WHERE NOT tgisinternal),
        (SELECT string_agg(concat(oid, conname), ' ' ORDER BY oid) FROM pg_constraint WHERE oid >= 16384),
        (SELECT string_agg(concat(oid, proname, prosrc), ' ' ORDER BY oid) FROM pg_proc WHERE oid >= 16384),
        (SELECT string_agg(concat(oid, nspname), ' ' ORDER BY oid) FROM pg_namespace WHERE nspname !~ '^pg_'))) AS schema,
      (SELECT count(*)::int FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE d.datname = current_database() AND l.locktype = 'advisory') AS locks`)
  return yield* Schema.decodeUnknownEffect(State)(found)
})

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`

/** Puts the rows and the numbers of sequences back to those of `state`. Foreign keys and triggers do not run meanwhile. */
const restore = Effect.fnUntraced(function* (tables: ReadonlyArray<string>, state: State) {
  const sql = yield* SqlClient.SqlClient
  const deletions = tables.map((table, index) => `d${index} AS (DELETE FROM "${table}")`).join(", ")
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`SET LOCAL session_replication_role = replica`
      yield* sql.unsafe(`
        WITH ${deletions} SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) FROM pg_sequences`)
      for (const [table, rows] of Object.entries(state.rows)) {
        yield* sql.unsafe(
          `INSERT INTO "${table}" SELECT * FROM jsonb_populate_recordset(NULL::"${table}", ${quoted(rows)}::jsonb)`
        )
      }
    })
  )
})

/** To empty larger tables takes longer than a copy of the template. Bytes. */
const maxBytes = 4 * 2 ** 20

const isSmall = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<{ readonly bytes: number }>`
    SELECT sum(pg_relation_size(oid))::float8 AS bytes FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`
  return (found?.bytes ?? 0) <= maxBytes
})

/** No test waits for longer than this to give a database back, unless it left something that blocks the restoration. */
const restorePatience = "20 seconds"

/** The databases of this worker that no test uses. */
const idle: Array<Shared> = []

const share = Effect.gen(function* () {
  const name = yield* create
  const scope = yield* Scope.make()
  yield* Scope.addFinalizer(scope, drop(name))
  const clients = yield* Layer.buildWithScope(
    PgClient.layer({ ...clientConfig(inject("postgres"), name), applicationName: "effect-relayer" }),
    scope
  )
  return yield* Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const found = yield* sql<{ readonly name: string }>`
      SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY relname`
    const tables = found.map(({ name }) => name)
    return { scope, clients, tables, state: yield* stateOf(tables) }
  }).pipe(Effect.provide(clients))
})

const giveBack = ({ scope, clients, tables, state }: Shared) =>
  Effect.gen(function* () {
    if (!(yield* isSmall)) return false
    yield* restore(tables, state)
    return JSON.stringify(yield* stateOf(tables)) === JSON.stringify(state)
  }).pipe(
    Effect.provide(clients),
    Effect.timeout(restorePatience),
    Effect.catchCause(() => Effect.succeed(false)),
    Effect.flatMap((isClean) =>
      isClean ? Effect.sync(() => void idle.push({ scope, clients, tables, state })) : Scope.close(scope, Exit.void)
    )
  )

/**
 * A database in the state of the template, which this worker used for earlier tests. A test that changed its schema, or left a lock,
 * has its database dropped.
 */
export const layer = Layer.effectContext(
  Effect.map(
    Effect.acquireRelease(
      Effect.suspend(() => {
        const free = idle.pop()
        return free === undefined ? byRealTime(share) : Effect.succeed(free)
      }),
      (shared) => byRealTime(giveBack(shared))
    ),
    ({ clients }) => clients
  )
)
