// Lanes as the rows of the table `lanes`.
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { Code } from "../../../domain/transaction/Code.ts"
import type { LaneAccount } from "../../../domain/transaction/Lane.ts"
import * as Rows from "../../../sql/Rows.ts"
import * as GivenRepo from "../accept/GivenRepo.ts"
import type { LedgerNetwork, LedgerRules } from "../LedgerRules.ts"
import { LaneId } from "../StoredLane.ts"
import type { StoredLane } from "../StoredLane.ts"

const optional = Schema.optionalKey

/** Sequences are texts: those of stellar are above 2^53. */
const accountFields = {
  address: Schema.String,
  next_nonce: Schema.BigIntFromString,
  chain_nonce: Schema.BigIntFromString,
  chain_block: optional(Schema.Int),
  chain_hash: optional(Schema.String),
  settled_nonce: Schema.BigIntFromString,
  counters: optional(Schema.Unknown)
}

/** Another account that the lane signs with: a row of the same table that names the lane as its parent. */
const Channel = Schema.Struct(accountFields)

const json = (column: unknown): unknown => JSON.parse(String(column))

const Row = Rows.withoutNulls(
  Schema.Struct({
    id: LaneId,
    chain: Schema.String,
    generation: Schema.Int,
    genesis: optional(Schema.String),
    ...accountFields,
    channels: optional(Schema.Array(Channel)),
    window_size: Schema.Int,
    trusts_count: Schema.Boolean,
    is_held: Schema.Boolean,
    epoch: Schema.Int,
    next_poll_at: Schema.Int,
    started_at: Schema.Int,
    given_cost: optional(Schema.BigIntFromString),
    code: optional(Code),
    code_since: optional(Schema.Int)
  }),
  { counters: json, channels: json }
)
type Row = (typeof Row)["Type"]

const read = Rows.all(Row)

/** `at`: milliseconds. */
export const moment = (sql: SqlClient.SqlClient) => (at: number) => sql`to_timestamp(${at}::float8 / 1000)`

/** A moment of the lane `l` in milliseconds. */
export const millisOf = (sql: SqlClient.SqlClient) => (column: string) =>
  sql`(extract(epoch FROM l.${sql(column)}) * 1000)::bigint`

/** JSON of what only the network of the account counts. */
export const countersText = (rules: LedgerRules["Service"], chain: string, { counters }: LaneAccount): string | null =>
  counters === undefined ? null : rules.of(chain).counters.text(counters)

/** The columns of the lane `l`. */
export const columns = (sql: SqlClient.SqlClient) => {
  const number = (column: string) => sql`l.${sql(column)}::float8 AS ${sql(column)}`
  const millis = (column: string) => sql`${millisOf(sql)(column)}::float8 AS ${sql(column)}`
  return sql`
    ${number("id")}, l.chain, l.address, l.generation, l.genesis, l.next_nonce::text AS next_nonce,
    l.chain_nonce::text AS chain_nonce, ${number("chain_block")}, l.chain_hash, l.settled_nonce::text AS settled_nonce,
    l.counters::text AS counters, l.window_size, l.trusts_count, (
      SELECT json_agg(json_strip_nulls(json_build_object('address', c.address, 'next_nonce', c.next_nonce::text,
        'chain_nonce', c.chain_nonce::text, 'chain_block', c.chain_block, 'chain_hash', c.chain_hash,
        'settled_nonce', c.settled_nonce::text, 'counters', c.counters)) ORDER BY c.id)
      FROM lanes c WHERE c.parent_id = l.id AND c.released_at IS NULL
    )::text AS channels,
    coalesce(l.held_until > now(), false) AS is_held, ${number("epoch")}, ${millis("next_poll_at")},
    (extract(epoch FROM pg_postmaster_start_time()) * 1000)::bigint::float8 AS started_at,
    ${GivenRepo.costOf(sql)}::text AS given_cost, l.code,
    ${millis("code_since")}`
}

export interface LaneAtEpoch {
  readonly epoch: number
  readonly stored: StoredLane
}

const accountOf = (
  { counters: codec }: LedgerNetwork,
  { address, counters, ...row }: typeof Channel.Type
): LaneAccount => ({
  address,
  nextSequence: row.next_nonce,
  chainSequence: row.chain_nonce,
  settledSequence: row.settled_nonce,
  ...(row.chain_block === undefined || row.chain_hash === undefined
    ? {}
    : { chainBlock: { number: row.chain_block, hash: row.chain_hash } }),
  ...(counters === undefined ? {} : { counters: codec.decode(counters) })
})

const laneOf =
  (rules: LedgerRules["Service"]) =>
  (row: Row): LaneAtEpoch => {
    const own = rules.of(row.chain)
    return {
      epoch: row.epoch,
      stored: {
        id: row.id,
        chain: row.chain,
        trustsCount: row.trusts_count,
        nextPollAt: row.next_poll_at,
        databaseStartedAt: row.started_at,
        isHeld: row.is_held,
        lane: {
          generation: row.generation,
          windowSize: row.window_size,
          accounts: [accountOf(own, row), ...(row.channels ?? []).map((channel) => accountOf(own, channel))]
        },
        ...(row.given_cost === undefined ? {} : { givenCost: row.given_cost }),
        ...(row.genesis === undefined ? {} : { genesis: row.genesis }),
        ...(row.code === undefined ? {} : { code: row.code }),
        ...(row.code_since === undefined ? {} : { codeSince: row.code_since })
      }
    }
  }

export const reader = (rules: LedgerRules["Service"]) => {
  const toLane = laneOf(rules)
  return (rows: ReadonlyArray<unknown>) => Effect.map(read(rows), (found) => found.map(toLane))
}
