// How the rows of a statement are selected, passed and read: decoded by the schema of a row. A row that does not fit is a defect.
import { Effect, Exit, Option, Schema, SchemaTransformation } from "effect"
import type { SqlClient, Statement } from "effect/sql"

// Long computations in pieces, so that other requests are served in between: there is one event loop for all of them.

/** Milliseconds of a piece: about as long as a short request takes, so that it waits for about as long as it works. */
const pacedPiece = 2

/** Like `Effect.forEach`, one after the other. The last piece has ended when it returns. */
export const forEachPaced = Effect.fnUntraced(function* <A, B, E, R>(
  items: ReadonlyArray<A>,
  f: (item: A) => Effect.Effect<B, E, R>
) {
  const results: Array<B> = []
  let startedAt = performance.now()
  for (const item of items) {
    results.push(yield* f(item))
    if (performance.now() - startedAt < pacedPiece) continue
    yield* Effect.yieldNow
    startedAt = performance.now()
  }
  return results
})

/** Pauses by the machine's clock and not by `Clock`, because the processor time of others is real also under `TestClock`. */
const pause = (milliseconds: number) =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), milliseconds)
    return Effect.sync(() => clearTimeout(timer))
  })

/**
 * Runs `work`, then pauses until it has taken at most `share` of the time, so that other requests have the processor and the
 * database meanwhile. On a busy machine, the work and the pause take longer.
 */
export const pacedAtShare =
  (share: number) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      const startedAt = performance.now()
      return Effect.tap(work, () => pause((performance.now() - startedAt) * (1 / share - 1)))
    })

type RowSchema = Schema.ConstraintDecoder<unknown>

/** Reads every row. Readers are made once, not for each statement: making one compiles the schema. */
export const all = <Row extends RowSchema>(row: Row) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(row))
  return (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<Row["Type"]>> => Effect.orDie(decode(rows))
}

/** Reads every row, in pieces: for pages of rows that contain whole resources. */
export const allPaced = <Row extends RowSchema>(row: Row) => {
  const decode = Schema.decodeUnknownEffect(row)
  return (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<Row["Type"]>> =>
    forEachPaced(rows, (found) => Effect.orDie(decode(found)))
}

/** The same for lists, in which a row that does not fit is left out. */
const readablePaced = <Row extends RowSchema>(row: Row) => {
  const decode = Schema.decodeUnknownEffect(row)
  return Effect.fnUntraced(function* <Found extends object>(rows: ReadonlyArray<Found>) {
    const read = yield* forEachPaced(rows, (found) => Effect.exit(decode(found)))
    return {
      items: read.flatMap((exit): ReadonlyArray<Row["Type"]> => (Exit.isSuccess(exit) ? [exit.value] : [])),
      failed: rows.filter((_, index) => read[index]?._tag === "Failure")
    }
  })
}

/** Reads the first row, if there is one. */
export const first = <Row extends RowSchema>(row: Row) => {
  const decode = Schema.decodeUnknownEffect(row)
  return ([found]: ReadonlyArray<unknown>): Effect.Effect<Option.Option<Row["Type"]>> =>
    found === undefined ? Effect.succeedNone : Effect.asSome(Effect.orDie(decode(found)))
}

/** Reads the first row of a statement that always returns one. */
export const one = <Row extends RowSchema>(row: Row) => {
  const read = first(row)
  const missing = Effect.die(new Error("a statement that always returns a row returned none"))
  return (rows: ReadonlyArray<unknown>): Effect.Effect<Row["Type"]> =>
    Effect.flatMap(read(rows), Option.match({ onNone: () => missing, onSome: Effect.succeed }))
}

const readIds = all(Schema.Struct({ id: Schema.String }))

/** Reads the column `id`. */
export const ids = (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(readIds(rows), (found) => found.map(({ id }) => id))

const readWords = one(Schema.Struct({ words: Schema.String }))

/** Reads the column `words` of one row, words between spaces: one text is read faster than many thousand rows. */
export const words = (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(readWords(rows), ({ words }) => (words === "" ? [] : words.split(" ")))

/**
 * The only way to read rows without a check: a template whose rows have the type `Row`. For hot paths that were measured,
 * which are reading and creating relayers, and finding the API key of a request.
 */
export const unchecked = <Row extends object>(sql: SqlClient.SqlClient) => sql<Row>

/** A `bigint` that fits a number, such as a count. */
export const Integer = Schema.BigInt.pipe(
  Schema.decodeTo(
    Schema.Int,
    SchemaTransformation.transform({
      decode: (value: bigint) => Number(value),
      encode: (value: number) => BigInt(value)
    })
  )
)

/** A row whose columns are named as the fields of `schema`: a null is an absent field; `read` turns a column into a field. */
export const withoutNulls = <S extends Schema.Constraint>(
  schema: S,
  read: Readonly<Record<string, (column: unknown) => unknown>> = {}
) =>
  Schema.Unknown.pipe(
    Schema.decodeTo(
      Schema.Unknown,
      SchemaTransformation.transform({
        decode: (row: unknown): unknown =>
          Object.fromEntries(
            Object.entries(row as Record<string, unknown>)
              .filter(([, value]) => value !== null)
              .map(([column, value]) => [column, read[column]?.(value) ?? value])
          ),
        encode: (value: unknown) => value
      })
    ),
    Schema.decodeTo(schema)
  )

/** What is written into a column of JSON. An absent value is null. */
export const jsonText = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

// Rows up to a size: a page of large rows ends earlier, so that a response is bounded in bytes.

/** Bytes of a page: rows that begin beyond it are left to the next page. A page has at least one row. */
export const maxPageBytes = 1_048_576

/** Bytes of a page by number. It is larger, because it has to be whole: a caller that counts pages would miss what was left off. */
export const maxNumberedBytes = 2 * maxPageBytes

interface SizedSelection {
  /** A statement with a `LIMIT`, whose columns `columns`, `size` and `orderBy` can use. */
  readonly rows: Statement.Fragment
  /**
   * The columns that are read from the rows that fit. Convert large values to text here and not in `rows`, so that the database
   * copies no large value of a row that does not fit. Absent: the columns of `rows`.
   */
  readonly columns?: Statement.Fragment
  /** The bytes of a row, as an expression of its columns. */
  readonly size: Statement.Fragment
  /** The order of the rows, by their columns, without ties. */
  readonly orderBy: Statement.Fragment
}

/** The sum of `size` over the rows before this one. */
export const bytesBefore = (sql: SqlClient.SqlClient, size: Statement.Fragment, orderBy: Statement.Fragment) =>
  sql`coalesce(sum(${size}) OVER (ORDER BY ${orderBy} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)`

const fittingRows = (
  sql: SqlClient.SqlClient,
  { rows, columns = sql`sized.*`, size, orderBy }: SizedSelection
): Statement.Statement<Readonly<Record<string, unknown>>> => sql`
  SELECT ${columns}, chosen_count FROM (
    SELECT chosen.*, count(*) OVER () AS chosen_count, ${bytesBefore(sql, size, orderBy)} AS bytes_before
    FROM (${rows}) chosen
  ) sized WHERE bytes_before < ${maxPageBytes} ORDER BY ${orderBy}`

const isCut = (fitting: ReadonlyArray<Readonly<Record<string, unknown>>>): boolean =>
  fitting.length < Number(fitting[0]?.chosen_count ?? 0)

/** In order. `isCut`: some rows did not fit. */
export const selectFitting = (sql: SqlClient.SqlClient, selection: SizedSelection) =>
  Effect.map(fittingRows(sql, selection), (fitting) => ({ rows: fitting, isCut: isCut(fitting) }))

/** The same with the value of an expression, which is read at the same moment, also if there are no rows. */
export const selectFittingBeside = (
  sql: SqlClient.SqlClient,
  selection: SizedSelection,
  expression: Statement.Fragment
) =>
  Effect.map(
    sql<Readonly<Record<string, unknown>>>`
      SELECT fitting.*, beside.value AS beside FROM (SELECT ${expression} AS value) beside
      LEFT JOIN (${fittingRows(sql, selection)}) fitting ON true ORDER BY ${selection.orderBy}`,
    (all) => {
      const fitting = all.filter(({ chosen_count }) => chosen_count !== null)
      return { rows: fitting, isCut: isCut(fitting), beside: all[0]?.beside }
    }
  )

// Selects rows of a table: a page with the count of all rows, in one statement and so of one moment, and a row by its id.

export interface Selection<Row extends Schema.ConstraintDecoder<unknown>> {
  readonly table: string
  /** Columns of the table, which is named `t`. */
  readonly columns: Statement.Fragment
  readonly Row: Row
}

export interface Page {
  readonly perPage: number
  readonly offset: number | Statement.Fragment
  /** A condition on the table, which is named `t`. Absent: all rows. */
  readonly where?: Statement.Fragment
  /** An order of the table, which is named `t`, without ties. Absent: creation order. */
  readonly orderBy?: Statement.Fragment
  /** Queries that the others may name. */
  readonly with?: Statement.Fragment
  /** An expression. Absent: the rows that there are, counted. */
  readonly total?: Statement.Fragment
}

/** A page in creation order. */
export interface NumberedPage extends Pick<Page, "perPage" | "where"> {
  readonly offset: number
}

/** The offset walks an index; only the rows of the page are read whole. */
export const selectRows = (
  sql: SqlClient.SqlClient,
  selection: {
    readonly table: string
    readonly columns: Statement.Fragment
    /** Joins to the rows of the page, which are named `t`. Each of them keeps its one row. */
    readonly joins?: Statement.Fragment
  }
) => {
  const table = sql(selection.table)
  const everything = sql`true`
  const creation = sql`t.seq`
  const joins = selection.joins ?? sql``

  const alone = sql``

  return ({ perPage, offset, with: others = alone, where = everything, orderBy = creation, total }: Page) =>
    Effect.map(
      sql`
        ${others} SELECT counted.total, page.seq AS seq, t.id AS row_id, ${selection.columns}
        FROM (SELECT ${total ?? sql`(SELECT count(*) FROM ${table} t WHERE ${where})`} AS total) counted
        LEFT JOIN (SELECT t.seq FROM ${table} t WHERE ${where} ORDER BY ${orderBy} LIMIT ${perPage} OFFSET ${offset}) page ON true
        LEFT JOIN ${table} t ON t.seq = page.seq ${joins}
        ORDER BY ${orderBy}`,
      (rows) => ({ rows: rows.filter(({ seq }) => seq !== null), total: Number(rows[0]?.total ?? 0) })
    )
}

export const selectPage = <Row extends Schema.ConstraintDecoder<unknown>>(
  sql: SqlClient.SqlClient,
  selection: Selection<Row>
) => {
  const select = selectRows(sql, selection)
  const read = readablePaced(selection.Row)
  const table = sql(selection.table)
  const everything = sql`true`

  /** The rows of the page that fit, in creation order. */
  const fitting = ({ perPage, offset, where = everything }: NumberedPage) => sql`
    t.seq IN (
      SELECT seq FROM (
        SELECT t.seq, ${bytesBefore(sql, sql`octet_length(t::text)`, sql`t.seq`)} AS bytes_before
        FROM (SELECT * FROM ${table} t WHERE ${where} ORDER BY t.seq LIMIT ${perPage} OFFSET ${offset}) t
      ) sized WHERE bytes_before < ${maxNumberedBytes})`

  /** `isCut`: some items of the page did not fit. */
  return Effect.fnUntraced(function* <Request extends NumberedPage>(request: Request) {
    const { perPage, offset, where = everything } = request
    const counted = sql`(SELECT count(*) FROM ${table} t WHERE ${where})`
    const { rows, total } = yield* select({ perPage, offset: 0, where: fitting(request), total: counted })
    const isCut = rows.length < Math.min(perPage, Math.max(0, total - offset))
    const { items, failed } = yield* read(rows)
    const unreadable = failed.map(({ row_id: id }) => ({
      id: String(id),
      reason: `${JSON.stringify(id)} of ${selection.table} has a value that this version does not know; it was written by another version, or changed in the database`
    }))
    return { request, items, total, isCut, unreadable }
  })
}

export const selectRow = <Row extends Schema.ConstraintDecoder<unknown>>(
  sql: SqlClient.SqlClient,
  selection: Selection<Row>
) => {
  const { columns } = selection
  const table = sql(selection.table)
  const read = first(selection.Row)

  const select = (lock: Statement.Fragment) => (id: string) =>
    Effect.flatMap(sql`SELECT ${columns} FROM ${table} t WHERE t.id = ${id} ${lock}`, read)

  /** `findForUpdate` locks the row until the transaction ends. */
  return { find: select(sql``), findForUpdate: select(sql`FOR UPDATE`) }
}

/** Which rows are read. */
export type Ids = ReadonlyArray<string> | "all"

/** A condition on the table, which is named `t`. */
export const amongAll = (sql: SqlClient.SqlClient, ids: Ids): Statement.Fragment =>
  ids === "all" ? sql`true` : sql`t.id = ANY(${ids}::text[])`

// The version of a row with the columns `seq` and `version`.

/**
 * The table is named `t`. `12.3` is the third version of the row that was inserted as the twelfth: a row that is deleted and
 * inserted again under the same id has other versions.
 */
export const versionColumn = (sql: SqlClient.SqlClient) => sql`t.seq || '.' || t.version AS version`

/**
 * An expression that names the state of a row of the table with this alias, also if a program changes it that knows no versions: the transaction that has
 * written it, of this start of the server, because a promoted replica can use a transaction id again. Locks and VACUUM leave it as it is. Null: there is no row.
 */
export const rowState = (sql: SqlClient.SqlClient, alias: "r" | "t" | "w") =>
  sql`${sql.literal(alias)}.xmin::text || '@' || extract(epoch FROM pg_postmaster_start_time())`

/** The row with this id, and its state when it was read. Absent: there was no row. */
export interface ReadRow {
  readonly id: string
  readonly state?: string
}

/** The column `seq` of the row. */
export const seqOf = (version: string): number => Number.parseInt(version, 10)

// Which configuration owns a row. It is read with the row, and is absent while no configuration owns it.

/** The tables of resources that configurations own. */
type Table = "networks" | "notifications" | "signers" | "relayers" | "api_keys"

/** The name of the owner as an expression, null if there is none. The table is named `t`. */
export const managedBy = (sql: SqlClient.SqlClient, table: Table) =>
  sql`(SELECT o.configuration FROM managed_objects o WHERE o.kind = ${sql.literal(`'${table}'`)} AND o.id = t.id)`

export const managedByColumn = (sql: SqlClient.SqlClient, table: Table) => sql`${managedBy(sql, table)} AS managed_by`

/** The column `json` of the table with the owner as its last member. */
export const managedByInJson = (sql: SqlClient.SqlClient, table: Table) =>
  sql`coalesce(left(t.json, -1) || ',"managed_by":"' || ${managedBy(sql, table)} || '"}', t.json)`

// Accounts that are found by some letters of their addresses, because only these letters are known.

/** Which addresses are wanted: those with one of `texts` in `length` letters from the index `from`; the first letter has the index 0. Each text has `length` letters. */
export interface AddressPart {
  readonly from: number
  readonly length: number
  readonly texts: ReadonlyArray<string>
}

/** Rows `t` of a table that fulfil a condition. The table has an index on the wanted letters of their addresses. */
export interface Addressed {
  readonly table: string
  readonly condition: string
}

/**
 * Addresses of rows of these tables, separated by blanks. The condition and the place of the letters are written into the statement and are no
 * parameters: PostgreSQL plans some prepared statements without their parameters, and would not see that the index fits. `OFFSET 0` makes it
 * search each index once per text. Without it, PostgreSQL reads the whole table for a hundred texts.
 */
export const addressesIn = (
  sql: SqlClient.SqlClient,
  tables: ReadonlyArray<Addressed>,
  { from, length, texts }: AddressPart
) => {
  const found = tables.map(
    ({ condition, table }) => sql`(SELECT t.address FROM ${sql(table)} t
      WHERE ${sql.literal(`${condition} AND substr(t.address, ${from + 1}, ${length})`)} = given.letters OFFSET 0)`
  )
  return sql`
    SELECT coalesce(string_agg(found.address, ' '), '') AS words
    FROM unnest(${texts}::text[]) AS given (letters) CROSS JOIN LATERAL (${sql.join(" UNION ALL ", false)(found)}) found`
}

// Passes rows to a statement with one array parameter per column, so that the statement is the same for any number of rows.

export type UnnestRow = Readonly<Record<string, string | null>>

const element = (value: string | null): string =>
  value === null ? "NULL" : `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`

/** The text format of an array. The driver cannot infer the type of an array that contains only nulls. */
const arrayText = (values: ReadonlyArray<string | null>): string => `{${values.map(element).join(",")}}`

/** A table called `given` for `WITH` or `FROM`. It has text columns with the names in the first row, and `n`, the number of the row from 1. */
export const unnestRows = (sql: SqlClient.SqlClient, rows: ReadonlyArray<UnnestRow>): Statement.Fragment => {
  const names = Object.keys(rows[0] ?? {})
  const list = sql.join(", ", false)
  const columns = names.map((name) => sql`${arrayText(rows.map((row) => row[name] ?? null))}::text[]`)
  return sql`unnest(${list(columns)}) WITH ORDINALITY AS given (${list([...names, "n"].map((name) => sql`${sql(name)}`))})`
}
