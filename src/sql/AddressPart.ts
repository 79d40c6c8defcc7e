// Accounts that are found by some letters of their addresses, because only these letters are known.
import type { SqlClient } from "effect/sql"

/** Which addresses are wanted: those with one of `texts` in `length` letters from the index `from`; the first letter has the index 0. Each text has `length` letters. */
export interface AddressPart {
  readonly from: number
  readonly length: number
  readonly texts: ReadonlyArray<string>
}

/**
 * Addresses of the rows `t` of a table, separated by blanks. The table has an index on these letters for the rows that fulfil
 * `condition`. The condition and the place of the letters are written into the statement and are no parameters: PostgreSQL plans
 * some prepared statements without their parameters, and would not see that the index fits. `OFFSET 0` makes it search the index once per text.
 * Without it, PostgreSQL reads the whole table for a hundred texts.
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
