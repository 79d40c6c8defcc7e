// Reads and writes channels: the further accounts of lanes, their keys, and the transactions that make and end them.
import { Effect, Option, Schema } from "effect"
import type { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import { LedgerRules } from "../LedgerRules.ts"
import type { Account } from "../NewTransaction.ts"
import type { LaneId } from "../StoredLane.ts"

/** A transaction that the service makes itself. */
export interface Work {
  readonly id: TransactionId
  readonly request: unknown
  readonly priority: number
  readonly validUntil: Moment
}

/** A new account, with its key. */
export interface SealedChannel {
  readonly address: string
  readonly sealed: Uint8Array
}

const LaneWithChannels = Schema.Struct({
  chain: Schema.String,
  address: Schema.String,
  count: Schema.Int,
  /** The number of channels that are being made or ended, so that transactions cannot use them. */
  unready: Schema.Int,
  /** The number of channels on which an open transaction has a place. */
  used: Schema.Int
})

const readLanes = Rows.all(LaneWithChannels)
const readKeys = Rows.first(Schema.Struct({ sealed: Schema.Uint8Array }))
const readWork = Rows.one(
  Rows.withoutNulls(Schema.Struct({ is_open: Schema.Boolean, failed_at: Schema.optionalKey(Schema.Int) }))
)

export const make = Effect.gen(function* () {
  const sql = yield* client
  const networks = yield* LedgerRules
  const moment = (at: Moment) => sql`to_timestamp(${at}::float8 / 1000)`

  /** Lanes with channels, on networks of the type. */
  const lanes = (type: string) =>
    sql`
      SELECT p.chain, p.address, count(*)::float8 AS count,
        count(*) FILTER (WHERE c.counters ->> 'stage' IS DISTINCT FROM 'ready')::float8 AS unready, (
          SELECT count(*) FROM transactions t
          WHERE t.lane_id = p.id AND t.channel_id IS NOT NULL AND t.state IN ('signed', 'submitted', 'mined')
        )::float8 AS used
      FROM lanes c JOIN lanes p ON p.id = c.parent_id
      WHERE c.parent_id IS NOT NULL AND c.released_at IS NULL AND starts_with(c.chain, ${`${type}:`})
      GROUP BY p.id`.pipe(Effect.flatMap(readLanes), query("ChannelsRepo.lanes"))

  const findKey = (address: string) =>
    sql`SELECT key_sealed AS sealed FROM channel_keys WHERE address = ${address}`.pipe(
      Effect.flatMap(readKeys),
      Effect.map(Option.map(({ sealed }) => sealed)),
      query("ChannelsRepo.findKey")
    )

  /** Whether a transaction that makes or ends channels is open, and when one failed last. */
  const work = (lane: LaneId) =>
    sql`
      SELECT coalesce(bool_or(t.final_at IS NULL), false) AS is_open,
        (extract(epoch FROM max(t.final_at) FILTER (WHERE t.state = 'failed')) * 1000)::bigint::float8 AS failed_at
      FROM transactions t WHERE t.lane_id = ${lane}::bigint AND t.origin = 'channel'`.pipe(
      Effect.flatMap(readWork),
      query("ChannelsRepo.work")
    )

  /** Inserts new accounts. The network sets their sequences when it sees them. */
  const insert = (lane: LaneId, { chain }: Account, counters: unknown, channels: ReadonlyArray<SealedChannel>) => {
    const addresses = channels.map(({ address }) => address)
    return Effect.andThen(
      sql`
        INSERT INTO channel_keys (address, key_sealed)
        SELECT * FROM unnest(${addresses}::text[], ${channels.map(({ sealed }) => sealed)}::bytea[])`,
      sql`
        INSERT INTO lanes (parent_id, chain, address, window_size, counters)
        SELECT ${lane}::bigint, ${chain}, address, 1, ${networks.of(chain).counters.text(counters)}::json
        FROM unnest(${addresses}::text[]) WITH ORDINALITY AS given (address, n) ORDER BY n`
    ).pipe(Effect.asVoid, query("ChannelsRepo.insert"))
  }

  const insertWork = (lane: LaneId, account: Account, { id, priority, request, validUntil }: Work, now: Moment) =>
    sql`
      INSERT INTO transactions (
        id, relayer_id, relayer_number, lane_id, generation, origin, request, facts, state, code, code_since, figures,
        priority, valid_until, created_at
      )
      SELECT ${id}::uuid, ${account.relayerId}, ${String(account.relayerNumber)}::bigint, l.id, l.generation, 'channel',
        ${networks.of(account.chain).request.text(request)}::json, '{}', 'pending', 'queued', ${moment(now)}, '{}',
        ${priority}::smallint, ${moment(validUntil)}, ${moment(now)}
      FROM lanes l WHERE l.id = ${lane}::bigint`.pipe(Effect.asVoid, query("ChannelsRepo.insertWork"))

  return { lanes, findKey, work, insert, insertWork }
})
