// Selects a row of a table by its id.
import { Effect } from "effect"
import type { Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import * as Rows from "./Rows.ts"
import type { Selection } from "./SelectPage.ts"

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
