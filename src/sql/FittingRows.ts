// Rows up to a size: a page of large rows ends earlier, so that a response is bounded in bytes.
import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"

/** Bytes of a page: rows that begin beyond it are left to the next page. A page has at least one row. */
export const maxPageBytes = 1_048_576

/** Bytes of a page by number. It is larger, because it has to be whole: a caller that counts pages would miss what was left off. */
export const maxNumberedBytes = 2 * maxPageBytes

interface Selection {
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

/** In order. `isCut`: some rows did not fit. */
export const select = (sql: SqlClient.SqlClient, { rows, columns = sql`sized.*`, size, orderBy }: Selection) =>
  Effect.map(
    sql`
      SELECT ${columns}, chosen_count FROM (
        SELECT chosen.*, count(*) OVER () AS chosen_count, ${bytesBefore(sql, size, orderBy)} AS bytes_before
        FROM (${rows}) chosen
      ) sized WHERE bytes_before < ${maxPageBytes} ORDER BY ${orderBy}`,
    (fitting) => ({ rows: fitting, isCut: fitting.length < Number(fitting[0]?.chosen_count ?? 0) })
  )
