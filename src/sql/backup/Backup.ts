// A backup: all tables as of one moment, in a file of JSON lines that is readable only by its owner.
import { DateTime, Effect, Exit, Schema, Stream } from "effect"
import type { Scope } from "effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { pipeline } from "node:stream/promises"
import { createGunzip, createGzip } from "node:zlib"
import { schemaVersion } from "../Migrate.ts"
import { client } from "../Transaction.ts"
import * as Rows from "../Rows.ts"
import * as Durable from "../embedded/Durable.ts"
import * as Former from "../migrations/Former.ts"
import { latestMigration } from "../migrations/index.ts"
import { tables } from "../migrations/objects.ts"

// The format of a backup: lines of JSON. A header, batches of rows, and a footer with counts and a checksum.

/** A later format gets another number, which this version refuses. */
const formatVersion = 1

const TableColumns = Schema.Struct({ name: Schema.String, columns: Schema.Array(Schema.String) })

export const Header = Schema.Struct({
  format: Schema.Literal("effect-relayer backup"),
  format_version: Schema.Literal(formatVersion),
  /** The latest migration of the database that was backed up. */
  schema: Schema.Int,
  /** When the snapshot was taken, as RFC 3339. */
  created_at: Schema.String,
  /** Version of the PostgreSQL server. */
  postgres: Schema.String,
  /** Ids of the master keys that the secrets in this backup are sealed with. The keys themselves are not in it. */
  key_ids: Schema.Array(Schema.String),
  tables: Schema.Array(TableColumns)
})
export type Header = typeof Header.Type

/** Values as PostgreSQL writes them as text, in the order of the header's columns. */
export const Batch = Schema.Struct({
  table: Schema.String,
  rows: Schema.Array(Schema.Array(Schema.NullOr(Schema.String)))
})
export type Batch = typeof Batch.Type

/** The last line. Without it, the file is incomplete. */
export const Footer = Schema.Struct({
  /** Rows per table. */
  rows: Schema.Record(Schema.String, Schema.Int),
  /** SHA-256, in hex, of all bytes before this line. */
  sha256: Schema.String
})
export type Footer = typeof Footer.Type

export const headerOf = (fields: Omit<Header, "format" | "format_version">): Header => ({
  format: "effect-relayer backup",
  format_version: formatVersion,
  ...fields
})

// The tables that a backup contains, and their columns as the catalog of the database has them.

const Column = Schema.Struct({
  name: Schema.String,
  type: Schema.String,
  /** The sequence behind an identity column. */
  sequence: Schema.NullOr(Schema.String)
})
type Column = typeof Column.Type

const readColumns = Rows.all(Schema.Struct({ ...Column.fields, table: Schema.String }))

export interface BackupTable {
  readonly name: string
  /** Without generated columns, which the database computes. */
  readonly columns: ReadonlyArray<Column>
}

/** The tables of this service that exist. Names come from the catalog, never from a file. */
export const existingTables = Effect.gen(function* () {
  const sql = yield* client
  const found = yield* sql`
    SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
      CASE WHEN a.attidentity <> '' THEN pg_get_serial_sequence(quote_ident(c.relname), a.attname) END AS sequence
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.oid IN (SELECT to_regclass(quote_ident(name)) FROM unnest(${tables}::text[]) name)
      AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    ORDER BY c.relname, a.attnum`
  const byTable = Map.groupBy(yield* readColumns(found), ({ table }) => table)
  return tables.flatMap((name): ReadonlyArray<BackupTable> => {
    const columns = byTable.get(name)
    return columns === undefined ? [] : [{ name, columns }]
  })
})

/** Why a backup was not made, or not restored. */
export class BackupError extends Schema.TaggedError<BackupError>()("BackupError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** Rows that are read at once. The largest rows, relayers and deliveries, have less than 1 MB. */
const fetchSize = 200

export interface Sink<E> {
  /** Writes a line, without its line feed. */
  readonly write: (line: string) => Effect.Effect<void, E>
  /** Writes the last line, which contains the checksum of all lines before. */
  readonly end: (footer: (sha256: string) => string) => Effect.Effect<void, E>
  readonly progress: (table: string, rows: number) => Effect.Effect<void>
}

const readServer = Rows.one(Schema.Struct({ version: Schema.String }))
const readJson = Rows.all(Schema.Struct({ json: Schema.String }))

const describe = Effect.gen(function* () {
  if (!(yield* Former.isListed))
    return yield* new BackupError({ message: "the database contains no data of this service" })
  const schema = yield* schemaVersion
  if (schema < Former.baseline)
    return yield* new BackupError({ message: `the database ${Former.isTooOld(schema)}: ${Former.remedy}` })
  const sql = yield* client
  const server = yield* readServer(yield* sql`SELECT current_setting('server_version') AS version`)
  const key_ids = yield* Rows.ids(yield* sql`SELECT key_id AS id FROM master_key ORDER BY key_id`)
  const found = yield* existingTables
  const header = headerOf({
    schema,
    created_at: DateTime.formatIso(yield* DateTime.now),
    postgres: server.version,
    key_ids,
    tables: found.map(({ name, columns }) => ({ name, columns: columns.map((column) => column.name) }))
  })
  return { found, header }
})

/** PostgreSQL makes the JSON: no value is parsed on its way into the file. */
const copy = Effect.fnUntraced(function* <E>(table: BackupTable, { write, progress }: Sink<E>) {
  const sql = yield* client
  const values = table.columns.map(({ name }) => sql`${sql(name)}::text`)
  yield* sql`
    DECLARE backup NO SCROLL CURSOR FOR
    SELECT json_build_array(${sql.join(", ", false)(values)})::text AS json FROM ${sql(table.name)}`
  let count = 0
  for (;;) {
    const rows = yield* readJson(yield* sql`FETCH ${sql.literal(String(fetchSize))} FROM backup`)
    if (rows.length === 0) break
    yield* write(`{"table":${JSON.stringify(table.name)},"rows":[${rows.map(({ json }) => json).join()}]}`)
    count += rows.length
    yield* progress(table.name, count)
  }
  yield* sql`CLOSE backup`
  return count
})

/**
 * Writes a backup to `sink`. One `REPEATABLE READ` transaction reads everything, so the backup is of one moment; it is read
 * only, so it gets no transaction id and holds back no reader of events (ADR 0007).
 */
export const take = Effect.fn("Snapshot.take")(function* <E>(sink: Sink<E>) {
  const sql = yield* client
  return yield* Effect.gen(function* () {
    yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`
    const { found, header } = yield* describe
    if (header.schema > latestMigration) {
      return yield* new BackupError({
        message: `the database has schema ${header.schema}, newer than this version knows (${latestMigration}): use a newer version`
      })
    }
    yield* sink.write(JSON.stringify(header))
    const rows: Record<string, number> = {}
    for (const table of found) rows[table.name] = yield* copy(table, sink)
    yield* sink.end((sha256) => JSON.stringify({ rows, sha256 } satisfies Footer))
    return { header, rows }
  }).pipe(sql.withTransaction)
})

// A backup as a file: gzip, readable only by its owner, complete or absent.

const failed = (action: string) => (cause: unknown) =>
  new BackupError({ message: `cannot ${action}: ${cause instanceof Error ? cause.message : String(cause)}`, cause })

/** Fastest level: a third of the size of the text, at the speed of a disk. */
const compression = { level: 1 }

/**
 * Writes to `FILE.partial`; closing the scope after a success syncs it to disk and gives it its name, which must be free.
 * After a failure nothing remains.
 */
export const create = (
  file: string,
  progress: Sink<BackupError>["progress"]
): Effect.Effect<Sink<BackupError>, BackupError, Scope.Scope> =>
  Effect.gen(function* () {
    const partial = `${file}.partial`
    const action = `write ${file}`
    if (fs.existsSync(file)) return yield* new BackupError({ message: `${file} exists: name a new file` })
    const gzip = createGzip(compression)
    const descriptor = yield* Effect.try({ try: () => fs.openSync(partial, "w", 0o600), catch: failed(action) })
    const written = pipeline(gzip, fs.createWriteStream(partial, { fd: descriptor, flush: true }))
    // The failure is reported by the write that meets it, or at the end.
    written.catch(() => undefined)
    yield* Effect.addFinalizer((exit) =>
      Exit.isSuccess(exit)
        ? Effect.void
        : Effect.promise(async () => {
            gzip.destroy()
            await written.catch(() => undefined)
            fs.rmSync(partial, { force: true })
          })
    )
    const hash = createHash("sha256")
    const push = (line: string) =>
      Effect.callback<void, BackupError>((resume) => {
        gzip.write(`${line}\n`, (cause) => resume(cause ? Effect.fail(failed(action)(cause)) : Effect.void))
      })
    return {
      progress,
      write: (line) =>
        Effect.andThen(
          Effect.sync(() => hash.update(line).update("\n")),
          push(line)
        ),
      end: (footer) =>
        push(footer(hash.digest("hex"))).pipe(
          Effect.andThen(
            Effect.tryPromise({
              try: async () => {
                gzip.end()
                await written
                // Fails if another process has created a file of this name meanwhile.
                fs.linkSync(partial, file)
                fs.unlinkSync(partial)
                await Durable.syncFolder(path.dirname(path.resolve(file)))
              },
              catch: failed(action)
            })
          )
        )
    }
  })

/** The lines of a file; each run reads it anew. */
export const lines = (file: string): Stream.Stream<string, BackupError> =>
  Stream.suspend(() =>
    Stream.fromAsyncIterable(
      fs.createReadStream(file).compose(createGunzip()) as AsyncIterable<Uint8Array>,
      failed(`read ${file}`)
    )
  ).pipe(Stream.decodeText, Stream.splitLines)
