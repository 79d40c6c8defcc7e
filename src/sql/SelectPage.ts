// Selects rows of a table: a page with the count of all rows, in one statement and so of one moment, and a row by its id.
import { Effect } from "effect"
import type { Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import * as FittingRows from "./FittingRows.ts"
import * as Rows from "./Rows.ts"

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
  const read = Rows.readablePaced(selection.Row)
  const table = sql(selection.table)
  const everything = sql`true`

  /** The rows of the page that fit, in creation order. */
  const fitting = ({ perPage, offset, where = everything }: NumberedPage) => sql`
    t.seq IN (
      SELECT seq FROM (
        SELECT t.seq, ${FittingRows.bytesBefore(sql, sql`octet_length(t::text)`, sql`t.seq`)} AS bytes_before
        FROM (SELECT * FROM ${table} t WHERE ${where} ORDER BY t.seq LIMIT ${perPage} OFFSET ${offset}) t
      ) sized WHERE bytes_before < ${FittingRows.maxNumberedBytes})`

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
  const read = Rows.first(selection.Row)

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
