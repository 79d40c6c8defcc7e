// Reads all tables as of one moment, while the service goes on.
import { DateTime, Effect, Schema } from "effect"
import * as Former from "../migrations/Former.ts"
import { latestMigration } from "../migrations/index.ts"
import { client } from "../Query.ts"
import * as Rows from "../Rows.ts"
import { schemaVersion } from "../Health.ts"
import * as Format from "./Format.ts"
import * as Tables from "./Tables.ts"

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
  const found = yield* Tables.existing
  const header = Format.header({
    schema,
    created_at: DateTime.formatIso(yield* DateTime.now),
    postgres: server.version,
    key_ids,
    tables: found.map(({ name, columns }) => ({ name, columns: columns.map((column) => column.name) }))
  })
  return { found, header }
})

/** PostgreSQL makes the JSON: no value is parsed on its way into the file. */
const copy = Effect.fnUntraced(function* <E>(table: Tables.Table, { write, progress }: Sink<E>) {
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
    yield* sink.end((sha256) => JSON.stringify({ rows, sha256 } satisfies Format.Footer))
    return { header, rows }
  }).pipe(sql.withTransaction)
})
