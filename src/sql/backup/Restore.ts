// Replaces the content of a database by a backup, in one transaction, after it was read to its end and found complete.
import { Effect, Option, Schema, Stream } from "effect"
import { createHash } from "node:crypto"
import { client } from "../Transaction.ts"
import * as Rows from "../Rows.ts"
import { unnestRows } from "../Rows.ts"
import type { UnnestRow } from "../Rows.ts"
import * as Former from "../migrations/Former.ts"
import { olderSeals, remedyOfBackup } from "../migrations/Former.ts"
import { exclusive, latestMigration, migrateTo, migrationsTable } from "../migrations/index.ts"
import { functions, tables } from "../migrations/objects.ts"
import * as Backup from "./Backup.ts"
import { BackupError, existingTables } from "./Backup.ts"
import type { BackupTable } from "./Backup.ts"

// Reads a backup to its end before anything is replaced: its format, its counts and its checksum.

const invalid = (reason: string) => new BackupError({ message: `the backup cannot be restored: ${reason}` })

const decodeHeader = Schema.decodeUnknownOption(Schema.fromJsonString(Backup.Header))
const decodeFooter = Schema.decodeUnknownOption(Schema.fromJsonString(Backup.Footer))

/** A batch of a table that the header declares, each row with a value per column. */
export const decodeBatch = (header: Backup.Header) => {
  const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Backup.Batch))
  const widths = new Map(header.tables.map(({ name, columns }) => [name, columns.length]))
  return (line: string): Effect.Effect<Backup.Batch, BackupError> => {
    const batch = Option.getOrUndefined(decode(line))
    if (batch === undefined) return Effect.fail(invalid("a line is damaged"))
    const width = widths.get(batch.table)
    return width !== undefined && batch.rows.every((row) => row.length === width)
      ? Effect.succeed(batch)
      : Effect.fail(invalid(`rows of table ${batch.table} do not have the columns that the backup declares`))
  }
}

/** The header of a file that this version can restore. */
export const decodedHeader = (line: string): Effect.Effect<Backup.Header, BackupError> => {
  const found = Option.getOrUndefined(decodeHeader(line))
  if (found === undefined) {
    return Effect.fail(
      invalid("the file is no backup of effect-relayer, or of a format that this version does not know")
    )
  }
  if (found.schema < Former.baseline) {
    return Effect.fail(invalid(`it ${Former.isTooOld(found.schema)}: ${Former.remedyOfBackup}`))
  }
  if (found.schema > latestMigration) {
    return Effect.fail(
      invalid(
        `it has schema ${found.schema}, and this version knows none after ${latestMigration}: use a newer version`
      )
    )
  }
  const unknown = found.tables.find(({ name }) => !tables.includes(name))
  return unknown === undefined
    ? Effect.succeed(found)
    : Effect.fail(invalid(`it contains an unknown table ${unknown.name}`))
}

interface Progress {
  readonly header: Backup.Header | undefined
  readonly footer: Backup.Footer | undefined
  /** The checksum before the newest line. */
  readonly sha256: string
}

/** Reads all lines and returns the header and the counts of a complete, undamaged backup. */
export const validate = Effect.fn("Restore.validate")(function* <E>(lines: Stream.Stream<string, E>) {
  const hash = createHash("sha256")
  const counts = new Map<string, number>()
  let state: Progress = { header: undefined, footer: undefined, sha256: "" }
  let batchOf: ReturnType<typeof decodeBatch> | undefined

  const visit = Effect.fnUntraced(function* (line: string): Effect.fn.Return<void, BackupError> {
    if (state.footer !== undefined) return yield* invalid("there are lines after its end")
    const sha256 = hash.copy().digest("hex")
    hash.update(line).update("\n")
    if (batchOf === undefined) {
      const found = yield* decodedHeader(line)
      batchOf = decodeBatch(found)
      state = { header: found, footer: undefined, sha256 }
      return
    }
    const footer = Option.getOrUndefined(decodeFooter(line))
    if (footer === undefined) {
      const { table, rows } = yield* batchOf(line)
      counts.set(table, (counts.get(table) ?? 0) + rows.length)
    } else state = { ...state, footer, sha256 }
  })
  yield* Stream.runForEach(lines, visit)

  if (state.header === undefined) return yield* invalid("the file is empty")
  const { footer } = state
  if (footer === undefined) return yield* invalid("it is incomplete")
  if (footer.sha256 !== state.sha256) return yield* invalid("its checksum does not match: it was changed or damaged")
  for (const { name } of state.header.tables) {
    if (footer.rows[name] !== (counts.get(name) ?? 0)) return yield* invalid(`rows of table ${name} are missing`)
  }
  return { header: state.header, rows: footer.rows }
})

/** Whether the database contains anything that a restore would replace. */
export const isEmpty = Effect.gen(function* () {
  const sql = yield* client
  const existing = new Set((yield* existingTables).map(({ name }) => name))
  for (const table of ["signers", "relayers", "notifications", "networks", "api_keys", "audit"]) {
    if (existing.has(table) && (yield* sql`SELECT 1 FROM ${sql(table)} LIMIT 1`).length > 0) return false
  }
  return true
})

const readCount = Rows.one(Schema.Struct({ count: Rows.Integer }))

/** Sessions of the service on this database, also of starts that change the schema, apart from this one. */
const refuseOthers = Effect.gen(function* () {
  const sql = yield* client
  const rows = yield* sql`
    SELECT count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND application_name IN ('effect-relayer', 'effect-relayer migration') AND pid <> pg_backend_pid()`
  const { count } = yield* readCount(rows)
  if (count > 0) {
    return yield* new BackupError({
      message: `the service is connected to this database (${count} connections): stop every instance first`
    })
  }
})

const dropAll = Effect.gen(function* () {
  const sql = yield* client
  for (const table of [...tables, migrationsTable]) yield* sql`DROP TABLE IF EXISTS ${sql(table)} CASCADE`
  for (const name of functions) yield* sql`DROP FUNCTION IF EXISTS ${sql(name)} CASCADE`
})

const Constraint = Schema.Struct({ table: Schema.String, name: Schema.String })
type Constraint = typeof Constraint.Type

const readConstraints = Rows.all(Constraint)

const foreignKeys = Effect.gen(function* () {
  const sql = yield* client
  const rows = yield* sql`
    SELECT c.relname AS table, f.conname AS name FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid
    WHERE f.contype = 'f' AND c.oid IN (SELECT to_regclass(quote_ident(name)) FROM unnest(${tables}::text[]) name)`
  return yield* readConstraints(rows)
})

/**
 * While `load` runs, triggers are disabled and foreign keys are checked at the end, because rows arrive in any order and must
 * stay as they were. The owner of the tables may do both. Only a superuser could disable foreign keys.
 */
const withoutChecks = Effect.fnUntraced(function* <E, R>(
  found: ReadonlyArray<BackupTable>,
  load: Effect.Effect<void, E, R>
) {
  const sql = yield* client
  const references = yield* foreignKeys
  const alter = ({ table, name }: Constraint, mode: "DEFERRABLE" | "NOT DEFERRABLE") =>
    sql`ALTER TABLE ${sql(table)} ALTER CONSTRAINT ${sql(name)} ${sql.literal(mode)}`
  for (const reference of references) yield* alter(reference, "DEFERRABLE")
  for (const { name } of found) yield* sql`ALTER TABLE ${sql(name)} DISABLE TRIGGER USER`
  yield* sql`SET CONSTRAINTS ALL DEFERRED`
  yield* load
  yield* sql`SET CONSTRAINTS ALL IMMEDIATE`
  for (const { name } of found) yield* sql`ALTER TABLE ${sql(name)} ENABLE TRIGGER USER`
  for (const reference of references) yield* alter(reference, "NOT DEFERRABLE")
})

const insert = Effect.fnUntraced(function* (
  table: BackupTable,
  names: ReadonlyArray<string>,
  rows: Backup.Batch["rows"]
) {
  const sql = yield* client
  const list = sql.join(", ", false)
  const types = new Map(table.columns.map(({ name, type }) => [name, type]))
  const given = rows.map((row): UnnestRow => Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])))
  const values = names.map((name) => sql`given.${sql(name)}::${sql.literal(types.get(name) ?? "text")}`)
  yield* sql`
    INSERT INTO ${sql(table.name)} (${list(names.map((name) => sql`${sql(name)}`))}) OVERRIDING SYSTEM VALUE
    SELECT ${list(values)} FROM ${unnestRows(sql, given)}`
})

/** Identity columns continue after the highest value. */
const advanceSequences = Effect.fnUntraced(function* (found: ReadonlyArray<BackupTable>) {
  const sql = yield* client
  for (const { name, columns } of found) {
    for (const column of columns) {
      if (column.sequence === null) continue
      yield* sql`
        SELECT setval(${column.sequence}::regclass, max(${sql(column.name)})) FROM ${sql(name)}
        HAVING max(${sql(column.name)}) IS NOT NULL`
    }
  }
})

/** The tables that the backup declares, as this database has them now. */
const declared = (header: Backup.Header, found: ReadonlyArray<BackupTable>) => {
  const byName = new Map(found.map((table) => [table.name, table]))
  return Effect.forEach(header.tables, ({ name, columns }) => {
    const table = byName.get(name)
    const known = new Set(table?.columns.map((column) => column.name))
    return table !== undefined && columns.every((column) => known.has(column))
      ? Effect.succeed([name, { table, columns }] as const)
      : Effect.fail(new BackupError({ message: `table ${name} of the backup does not fit schema ${header.schema}` }))
  })
}

export interface Options<E> {
  readonly header: Backup.Header
  /** All lines of the file, the header first. */
  readonly lines: Stream.Stream<string, E>
  readonly progress: (table: string, rows: number) => Effect.Effect<void>
}

/**
 * Replaces everything that the service has in this database. If anything fails, the database stays as it was. An older
 * schema is migrated to the one of this version afterwards, in the same transaction.
 */
export const restore = Effect.fn("Restore.restore")(function* <E>({ header, lines, progress }: Options<E>) {
  const sql = yield* client
  const decode = decodeBatch(header)
  yield* Effect.gen(function* () {
    yield* refuseOthers
    yield* exclusive
    yield* dropAll
    yield* migrateTo({ last: header.schema })
    const found = yield* existingTables
    const targets = new Map(yield* declared(header, found))
    const counts = new Map<string, number>()

    const load = Stream.runForEach(
      Stream.drop(lines, 1),
      Effect.fnUntraced(function* (line) {
        if (line.startsWith('{"rows":')) return
        const { table: name, rows } = yield* decode(line)
        const target = targets.get(name)
        if (target === undefined) return
        yield* insert(target.table, target.columns, rows)
        const count = (counts.get(name) ?? 0) + rows.length
        counts.set(name, count)
        yield* progress(name, count)
      })
    )
    yield* withoutChecks(
      found,
      Effect.andThen(sql`TRUNCATE ${sql.join(", ", false)(found.map(({ name }) => sql`${sql(name)}`))}`, load)
    )
    const unreadable = yield* olderSeals
    if (unreadable !== undefined)
      return yield* new BackupError({ message: `the backup ${unreadable}: ${remedyOfBackup}` })
    yield* advanceSequences(found)
    yield* migrateTo()
    // The copy may be behind the chain: the next start marks its open transactions.
    yield* sql`DELETE FROM ledger_mark`
  }).pipe(sql.withTransaction)
})
