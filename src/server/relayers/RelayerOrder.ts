// The orders of the list of relayers, in SQL. Each ends with `seq`, so that no two relayers have the same position.
import type { SqlClient, Statement } from "effect/sql"
import type { RelayerSort } from "../../domain/relayer/Relayer.ts"

/** The position of a relayer, for every order. */
export interface Position {
  readonly name: string
  /** Creation order. */
  readonly seq: number
}

export interface RelayerOrder {
  readonly by: Statement.Fragment
  /** Selects the relayers after a position. */
  readonly after: (position: Position) => Statement.Fragment
  /** Skips `offset` relayers of an unfiltered list, by the counts of `relayer_blocks`. Absent: OFFSET has to be used. */
  readonly skip?: (offset: number) => Skipped
}

interface Skipped {
  readonly with: Statement.Fragment
  readonly where: Statement.Fragment
  /** The number of relayers to skip inside the first block. */
  readonly offset: Statement.Fragment
}

/** Sequence numbers per row of `relayer_blocks`. */
export const blockSize = 8192

const firstBlock = (sql: SqlClient.SqlClient, offset: number, direction: Statement.Fragment) => ({
  with: sql`
    WITH start AS MATERIALIZED (
      SELECT block, (upto - count)::bigint AS before
      FROM (
        SELECT block, sum(count) AS count, sum(sum(count)) OVER (ORDER BY block ${direction}) AS upto
        FROM relayer_blocks GROUP BY block
      ) blocks
      WHERE upto > ${offset} ORDER BY block ${direction} LIMIT 1
    )`,
  offset: sql`${offset}::bigint - (SELECT before FROM start)`
})

/** The order for `relayers t`. Each order has an index. */
export const of = (sql: SqlClient.SqlClient, sort: RelayerSort): RelayerOrder => {
  switch (sort) {
    case "created_at":
      return {
        by: sql`t.seq`,
        after: ({ seq }) => sql`t.seq > ${seq}`,
        skip: (offset) => ({
          ...firstBlock(sql, offset, sql`ASC`),
          where: sql`t.seq >= (SELECT block * ${blockSize} FROM start)`
        })
      }
    case "-created_at":
      return {
        by: sql`t.seq DESC`,
        after: ({ seq }) => sql`t.seq < ${seq}`,
        skip: (offset) => ({
          ...firstBlock(sql, offset, sql`DESC`),
          where: sql`t.seq < (SELECT (block + 1) * ${blockSize} FROM start)`
        })
      }
    case "name":
      return {
        by: sql`t.name COLLATE "C", t.seq`,
        after: ({ name, seq }) => sql`(t.name COLLATE "C", t.seq) > (${name}, ${seq})`
      }
    case "-name":
      return {
        by: sql`t.name COLLATE "C" DESC, t.seq DESC`,
        after: ({ name, seq }) => sql`(t.name COLLATE "C", t.seq) < (${name}, ${seq})`
      }
  }
}
