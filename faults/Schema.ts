// Databases of earlier versions: an earlier schema with the rows of the current one, as far as it has their columns.
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as SealedRepo from "../src/server/masterKey/SealedRepo.ts"
import { sealedColumns } from "../src/server/masterKey/SealedRepo.ts"
import { currentVersion } from "../src/server/secrets/Envelope.ts"
import { Secrets } from "../src/server/secrets/Secrets.ts"
import { migrations, migrationsTable } from "../src/sql/migrations/index.ts"
import * as OlderSeals from "../testkit/OlderSeals.ts"

const names = Object.keys(migrations)

/** All earlier schemas, as the number of their last migration. */
export const earlier = names.slice(0, -1).map((name) => Number.parseInt(name, 10))

export interface Table {
  readonly name: string
  /** All rows as JSON objects. */
  readonly rows: string
}

const tableNames = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly name: string }>`
    SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = 'public' AND table_name <> ${migrationsTable} ORDER BY 1`
  return rows.map(({ name }) => name)
})

export const read = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* Effect.forEach(yield* tableNames, (name) =>
    Effect.map(
      sql<{ readonly rows: string }>`SELECT coalesce(json_agg(t), '[]')::text AS rows FROM ${sql(name)} t`,
      ([row]): Table => ({ name, rows: row?.rows ?? "[]" })
    )
  )
})

/** Whether the versions of the service with this schema wrote MACs of rows. Earlier ones sealed secrets in another format. */
export const hasMacs = (last: number): boolean =>
  last >= Number.parseInt(names.find((name) => name.endsWith("_row_macs")) ?? "", 10)

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")

/** The same tables with the secrets sealed as versions before the MACs of rows did. Runs on the database of the tables. */
export const withOlderSeals = Effect.fnUntraced(function* (tables: ReadonlyArray<Table>, masterKey: Uint8Array) {
  const sql = yield* SqlClient.SqlClient
  const { open } = yield* Effect.provide(Secrets, Secrets.layer({ current: Redacted.make(masterKey) }))
  const { stale } = yield* SealedRepo.make
  const older = new Map<string, string>()
  for (const column of sealedColumns) {
    const values = yield* stale(column, { versionBelow: currentVersion + 1 }, "", Number.MAX_SAFE_INTEGER)
    for (const { id, sealed, context } of values) {
      const place = { table: column.table, id, column: column.column }
      const secret = yield* open(sealed, { ...place, ...(context === null ? {} : { context }) })
      older.set(hexOf(sealed), hexOf(OlderSeals.sealV2(masterKey, Redacted.value(secret), place)))
    }
  }
  for (const { sealed } of yield* sql<{ readonly sealed: Uint8Array }>`SELECT sealed FROM master_key`) {
    older.set(hexOf(sealed), hexOf(OlderSeals.markV2(masterKey)))
  }
  // JSON of PostgreSQL has bytes in hex.
  const resealed = (rows: string) => rows.replace(/(?<=\\\\x)[0-9a-f]+/g, (bytes) => older.get(bytes) ?? bytes)
  return tables.map(({ name, rows }): Table => ({ name, rows: resealed(rows) }))
})

/** Writes rows into the existing tables and columns, without triggers, because `tables` contains the rows of triggers. */
export const write = Effect.fnUntraced(function* (tables: ReadonlyArray<Table>) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`SET session_replication_role = replica`
  const present = yield* tableNames
  for (const { name, rows } of tables.filter(({ name }) => present.includes(name))) {
    const columns = yield* sql<{ readonly name: string }>`
      SELECT column_name AS name FROM information_schema.columns
      WHERE table_schema = 'public' AND table_name = ${name} AND is_generated = 'NEVER'
        AND column_name IN (SELECT json_object_keys(${rows}::json -> 0))`
    if (columns.length === 0) continue
    const list = sql.csv(columns.map(({ name }) => sql`${sql(name)}`))
    yield* sql`DELETE FROM ${sql(name)}`
    yield* sql`
      INSERT INTO ${sql(name)} (${list}) OVERRIDING SYSTEM VALUE
      SELECT ${list} FROM json_populate_recordset(NULL::${sql(name)}, ${rows}::json)`
    yield* sql`
      SELECT setval(pg_get_serial_sequence(${name}, column_name), 1000000)::text FROM information_schema.columns
      WHERE table_schema = 'public' AND table_name = ${name} AND is_identity = 'YES'`
  }
  yield* sql`SET session_replication_role = origin`
})

/** Statements after which the transaction of the migrations fails when it commits, after all its changes. */
export const failAtCommit = [
  "CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''a fault at the commit''; END'",
  `CREATE CONSTRAINT TRIGGER fault AFTER INSERT ON ${migrationsTable} DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION fault()`
]

export const succeedAtCommit = ["DROP FUNCTION fault() CASCADE"]

/** The columns, constraints and triggers of the schema as text. */
export const describe = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly text: string }>`
    SELECT concat_ws(E'\n',
      (SELECT string_agg(concat_ws(' ', table_name, column_name, data_type, is_nullable), E'\n' ORDER BY table_name, ordinal_position)
        FROM information_schema.columns WHERE table_schema = 'public'),
      (SELECT string_agg(conrelid::regclass || ' ' || conname, E'\n' ORDER BY 1) FROM (
        SELECT conrelid, conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY conrelid::regclass::text, conname) c),
      (SELECT string_agg(tgname, E'\n' ORDER BY tgname) FROM pg_trigger WHERE NOT tgisinternal)
    ) AS text`
  return row?.text ?? ""
})
