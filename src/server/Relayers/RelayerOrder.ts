// The orders of the list of relayers, in SQL. Each ends with `seq`, so that no two relayers have the same place.
import type { SqlClient, Statement } from "effect/sql"
import type { RelayerSort } from "../../domain/Relayer.ts"

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
}

/** Of the table as `t`; an index serves each of them. */
export const of = (sql: SqlClient.SqlClient, sort: RelayerSort): RelayerOrder => {
  switch (sort) {
    case "created_at":
      return { by: sql`t.seq`, after: ({ seq }) => sql`t.seq > ${seq}` }
    case "-created_at":
      return { by: sql`t.seq DESC`, after: ({ seq }) => sql`t.seq < ${seq}` }
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
