// Lanes as the rows of the table `lanes`.
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { Code } from "../../domain/transaction/Code.ts"
import * as Rows from "../../sql/Rows.ts"
import { LaneId } from "./StoredLane.ts"
import type { StoredLane } from "./StoredLane.ts"

const optional = Schema.optionalKey

const Row = Rows.withoutNulls(
  Schema.Struct({
    id: LaneId,
    chain: Schema.String,
    address: Schema.String,
    generation: Schema.Int,
    genesis: optional(Schema.String),
    next_nonce: Schema.Int,
    chain_nonce: Schema.Int,
    chain_block: optional(Schema.Int),
    chain_hash: optional(Schema.String),
    settled_nonce: Schema.Int,
    window_size: Schema.Int,
    trusts_count: Schema.Boolean,
    is_held: Schema.Boolean,
    epoch: Schema.Int,
    next_poll_at: Schema.Int,
    code: optional(Code),
    code_since: optional(Schema.Int)
  })
)
type Row = (typeof Row)["Type"]

const read = Rows.all(Row)

/** The columns of the lane `l`. */
export const columns = (sql: SqlClient.SqlClient) => {
  const number = (column: string) => sql`l.${sql(column)}::float8 AS ${sql(column)}`
  const millis = (column: string) =>
    sql`(extract(epoch FROM l.${sql(column)}) * 1000)::bigint::float8 AS ${sql(column)}`
  return sql`
    ${number("id")}, l.chain, l.address, l.generation, l.genesis, ${number("next_nonce")}, ${number("chain_nonce")},
    ${number("chain_block")}, l.chain_hash, ${number("settled_nonce")}, l.window_size, l.trusts_count,
    coalesce(l.held_until > now(), false) AS is_held, ${number("epoch")}, ${millis("next_poll_at")}, l.code,
    ${millis("code_since")}`
}

export interface LaneAtEpoch {
  readonly epoch: number
  readonly stored: StoredLane
}

const laneOf = (row: Row): LaneAtEpoch => ({
  epoch: row.epoch,
  stored: {
    id: row.id,
    chain: row.chain,
    trustsCount: row.trusts_count,
    nextPollAt: row.next_poll_at,
    isHeld: row.is_held,
    lane: {
      address: row.address,
      generation: row.generation,
      nextNonce: row.next_nonce,
      chainNonce: row.chain_nonce,
      settledNonce: row.settled_nonce,
      windowSize: row.window_size,
      ...(row.chain_block === undefined || row.chain_hash === undefined
        ? {}
        : { chainBlock: { number: row.chain_block, hash: row.chain_hash } })
    },
    ...(row.genesis === undefined ? {} : { genesis: row.genesis }),
    ...(row.code === undefined ? {} : { code: row.code }),
    ...(row.code_since === undefined ? {} : { codeSince: row.code_since })
  }
})

export const readAll = (rows: ReadonlyArray<unknown>) => Effect.map(read(rows), (found) => found.map(laneOf))
