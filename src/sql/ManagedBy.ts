// Which configuration owns a row. It is read with the row, and is absent while no configuration owns it.
import type { SqlClient } from "effect/sql"

/** The tables of resources that configurations own. */
type Table = "networks" | "notifications" | "signers" | "relayers" | "api_keys"

/** The name of the owner as an expression, null if there is none. The table is named `t`. */
export const owner = (sql: SqlClient.SqlClient, table: Table) =>
  sql`(SELECT o.configuration FROM managed_objects o WHERE o.kind = ${sql.literal(`'${table}'`)} AND o.id = t.id)`

export const column = (sql: SqlClient.SqlClient, table: Table) => sql`${owner(sql, table)} AS managed_by`

/** The column `json` of the table with the owner as its last member. */
export const inJson = (sql: SqlClient.SqlClient, table: Table) =>
  sql`coalesce(left(t.json, -1) || ',"managed_by":"' || ${owner(sql, table)} || '"}', t.json)`
