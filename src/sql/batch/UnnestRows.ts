// Rows that a statement is given: a parameter for each column, so that it is the same statement for any number of rows.
import type { SqlClient, Statement } from "effect/sql"

export type Row = Readonly<Record<string, string | null>>

const element = (value: string | null): string =>
  value === null ? "NULL" : `"${value.replaceAll(/["\\]/g, (special) => `\\${special}`)}"`

/** The database's text of an array; a driver finds no type for one that is all nulls. */
const arrayText = (values: ReadonlyArray<string | null>): string => `{${values.map(element).join(",")}}`

/** What `WITH` or `FROM` calls `given`: columns of text, named as those of the first row, and `n`, the place of a row, from 1. */
export const make = (sql: SqlClient.SqlClient, rows: ReadonlyArray<Row>): Statement.Fragment => {
  const names = Object.keys(rows[0] ?? {})
  const list = sql.join(", ", false)
  const columns = names.map((name) => sql`${arrayText(rows.map((row) => row[name] ?? null))}::text[]`)
  return sql`unnest(${list(columns)}) WITH ORDINALITY AS given (${list([...names, "n"].map((name) => sql`${sql(name)}`))})`
}
