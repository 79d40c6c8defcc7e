// Accounts that are found by some letters of their addresses, because only these letters are known.
import type { SqlClient, Statement } from "effect/sql"

/** Letters of an address from the place `from` on, which begins with 0, and what they may be. All texts have the same length. */
export interface AddressPart {
  readonly from: number
  readonly length: number
  readonly texts: ReadonlyArray<string>
}

/** Place and length are part of the statement: an index on them is found. */
export const isIn = (sql: SqlClient.SqlClient, address: Statement.Fragment, { from, length, texts }: AddressPart) =>
  sql`substr(${address}, ${sql.literal(`${from + 1}, ${length}`)}) = ANY(${texts}::text[])`
