// A row of a table by its id.
import { Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { Selection } from "./SelectPage.ts"

export const selectRow = <Row extends Schema.Constraint>(sql: SqlClient.SqlClient, selection: Selection<Row>) => {
  const { columns } = selection
  const table = sql(selection.table)
  const decode = Schema.decodeUnknownEffect(selection.Row)

  const select = (lock: Statement.Fragment) => (id: string) =>
    Effect.flatMap(sql`SELECT ${columns} FROM ${table} t WHERE t.id = ${id} ${lock}`, ([row]) =>
      row === undefined ? Effect.succeedNone : Effect.asSome(decode(row))
    )

  /** `findForUpdate` holds the row until the transaction ends. */
  return { find: select(sql``), findForUpdate: select(sql`FOR UPDATE`) }
}
