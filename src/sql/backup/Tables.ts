// The tables that a backup contains, and their columns as the catalog of the database has them.
import { Effect, Schema } from "effect"
import { client } from "../Query.ts"
import * as Rows from "../Rows.ts"
import { tables } from "../migrations/objects.ts"

const Column = Schema.Struct({
  name: Schema.String,
  type: Schema.String,
  /** The sequence behind an identity column. */
  sequence: Schema.NullOr(Schema.String)
})
type Column = typeof Column.Type

const readColumns = Rows.all(Schema.Struct({ ...Column.fields, table: Schema.String }))

export interface Table {
  readonly name: string
  /** Without generated columns, which the database computes. */
  readonly columns: ReadonlyArray<Column>
}

/** The tables of this service that exist. Names come from the catalog, never from a file. */
export const existing = Effect.gen(function* () {
  const sql = yield* client
  const found = yield* sql`
    SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
      CASE WHEN a.attidentity <> '' THEN pg_get_serial_sequence(quote_ident(c.relname), a.attname) END AS sequence
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.oid IN (SELECT to_regclass(quote_ident(name)) FROM unnest(${tables}::text[]) name)
      AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    ORDER BY c.relname, a.attnum`
  const byTable = Map.groupBy(yield* readColumns(found), ({ table }) => table)
  return tables.flatMap((name): ReadonlyArray<Table> => {
    const columns = byTable.get(name)
    return columns === undefined ? [] : [{ name, columns }]
  })
})
