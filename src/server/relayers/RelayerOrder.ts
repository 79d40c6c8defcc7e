// The orders of the list of relayers, in SQL. Each ends with `seq`, so that no two relayers have the same position.
import type { SqlClient, Statement } from "effect/sql"
import type { RelayerSort } from "../../domain/relayer/Relayer.ts"
import * as RelayerChecks from "./RelayerChecks.ts"

/** The position of a relayer. */
export interface Position {
  /** The value that the order compares first: `key` as text. */
  readonly key: string
  /** Creation order. */
  readonly seq: number
}

export interface RelayerOrder {
  readonly by: Statement.Fragment
  /** The expression that is compared before the creation order. Absent: only the creation order counts. */
  readonly key?: Statement.Fragment
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

/** The order for `relayers t`. Each order has an index, except `attention`, which sorts all relayers. */
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
        key: sql`t.name`,
        after: ({ key, seq }) => sql`(t.name COLLATE "C", t.seq) > (${key}, ${seq})`
      }
    case "-name":
      return {
        by: sql`t.name COLLATE "C" DESC, t.seq DESC`,
        key: sql`t.name`,
        after: ({ key, seq }) => sql`(t.name COLLATE "C", t.seq) < (${key}, ${seq})`
      }
    case "attention": {
      const rank = RelayerChecks.rank(sql)
      return {
        by: sql`${rank}, t.seq`,
        key: rank,
        after: ({ key, seq }) => sql`(${rank}, t.seq) > (${Number(key)}::integer, ${seq}::bigint)`
      }
    }
  }
}
