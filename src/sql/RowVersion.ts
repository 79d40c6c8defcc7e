// The version of a row with the columns `seq` and `version`.
import type { SqlClient } from "effect/sql"

/**
 * The table is named `t`. `12.3` is the third version of the row that was inserted as the twelfth: a row that is deleted and
 * inserted again under the same id has other versions.
 */
export const column = (sql: SqlClient.SqlClient) => sql`t.seq || '.' || t.version AS version`

/** The column `seq` of the row. */
export const seqOf = (version: string): number => Number.parseInt(version, 10)
