// A page of a table in creation order, with the count of all rows, in one statement and so of one moment.
import { Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"

export interface Selection<Row extends Schema.Constraint> {
  readonly table: string
  /** Of the table as `t`. */
  readonly columns: Statement.Fragment
  readonly Row: Row
}

/** The offset walks the narrow index on `seq`; only the rows of the page are read whole. */
export const selectPage = <Row extends Schema.Constraint>(sql: SqlClient.SqlClient, selection: Selection<Row>) => {
  const table = sql(selection.table)
  const decode = Schema.decodeUnknownEffect(Schema.Array(selection.Row))
  return Effect.fnUntraced(function* (limit: number, offset: number) {
    const rows = yield* sql<{ readonly total: bigint; readonly seq: bigint | null }>`
      SELECT counted.total, page.seq, ${selection.columns}
      FROM (SELECT count(*) AS total FROM ${table}) counted
      LEFT JOIN (SELECT seq FROM ${table} ORDER BY seq LIMIT ${limit} OFFSET ${offset}) page ON true
      LEFT JOIN ${table} t ON t.seq = page.seq
      ORDER BY page.seq`
    const items = yield* decode(rows.filter(({ seq }) => seq !== null))
    return { items, total: Number(rows[0]?.total ?? 0n) }
  })
}
