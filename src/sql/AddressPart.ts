// Accounts that are found by some letters of their addresses, because only these letters are known.
import type { SqlClient } from "effect/sql"

/** Letters of an address from the place `from` on, which begins with 0, and what they may be. All texts have the same length. */
export interface AddressPart {
  readonly from: number
  readonly length: number
  readonly texts: ReadonlyArray<string>
}

/**
 * Addresses of the rows `t` of a table, as words. The table has an index on these letters for the rows of `condition`. Condition and
 * letters are part of the statement, because a prepared plan knows no parameters and would not find the index. `OFFSET 0` makes
 * PostgreSQL search the index for each text: for a hundred texts it would read all rows instead, which takes longer the more
 * relayers there are.
 */
export const addressesIn = (
  sql: SqlClient.SqlClient,
  table: string,
  condition: string,
  { from, length, texts }: AddressPart
) => sql`
  SELECT coalesce(string_agg(found.address, ' '), '') AS words
  FROM unnest(${texts}::text[]) AS given (letters) CROSS JOIN LATERAL (
    SELECT t.address FROM ${sql(table)} t
    WHERE ${sql.literal(`${condition} AND substr(t.address, ${from + 1}, ${length})`)} = given.letters OFFSET 0
  ) found`
