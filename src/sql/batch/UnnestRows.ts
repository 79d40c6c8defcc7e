// Passes rows to a statement with one array parameter per column, so that the statement is the same for any number of rows.
import type { SqlClient, Statement } from "effect/sql"

export type Row = Readonly<Record<string, string | null>>

const element = (value: string | null): string =>
  value === null ? "NULL" : `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`

/** The text format of an array. The driver cannot infer the type of an array that contains only nulls. */
const arrayText = (values: ReadonlyArray<string | null>): string => `{${values.map(element).join(",")}}`

/** A table called `given` for `WITH` or `FROM`. It has text columns with the names in the first row, and `n`, the number of the row from 1. */
export const make = (sql: SqlClient.SqlClient, rows: ReadonlyArray<Row>): Statement.Fragment => {
  const names = Object.keys(rows[0] ?? {})
  const list = sql.join(", ", false)
  const columns = names.map((name) => sql`${arrayText(rows.map((row) => row[name] ?? null))}::text[]`)
  return sql`unnest(${list(columns)}) WITH ORDINALITY AS given (${list([...names, "n"].map((name) => sql`${sql(name)}`))})`
}
