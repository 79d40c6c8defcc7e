// The orders of the list of relayers, in SQL. Each ends with `seq`, so that no two relayers have the same place.
import type { SqlClient, Statement } from "effect/sql"
import type { RelayerSort } from "../../domain/relayer/Relayer.ts"

/** The place of a relayer in any order. */
export interface Position {
  readonly name: string
  /** Creation order. */
  readonly seq: number
}

export interface RelayerOrder {
  readonly by: Statement.Fragment
  /** The relayers that come after a place. */
  readonly after: (position: Position) => Statement.Fragment
  /** The relayers that come after so many others, all relayers in this order: from the block that they begin in. */
  readonly skip?: (offset: number) => Skipped
}

interface Skipped {
  readonly with: Statement.Fragment
  readonly where: Statement.Fragment
  /** What is left to skip. */
  readonly offset: Statement.Fragment
}

/** Sequence numbers that are counted together in `relayer_blocks`. */
export const blockSize = 8192

const skip = (sql: SqlClient.SqlClient, offset: number, direction: Statement.Fragment) => ({
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

/** The table is named `t`. An index serves each order. */
export const of = (sql: SqlClient.SqlClient, sort: RelayerSort): RelayerOrder => {
  switch (sort) {
    case "created_at":
      return {
        by: sql`t.seq`,
        after: ({ seq }) => sql`t.seq > ${seq}`,
        skip: (offset) => ({
          ...skip(sql, offset, sql`ASC`),
          where: sql`t.seq >= (SELECT block * ${blockSize} FROM start)`
        })
      }
    case "-created_at":
      return {
        by: sql`t.seq DESC`,
        after: ({ seq }) => sql`t.seq < ${seq}`,
        skip: (offset) => ({
          ...skip(sql, offset, sql`DESC`),
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
