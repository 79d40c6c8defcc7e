// Transactions of the service itself: they make and end the channels of a lane, and restore entries that a call needs.
import { Clock, Effect, Option, Schema } from "effect"
import type { Redacted } from "effect"
import type { LaneKey } from "../../networks/core/Rules.ts"
import { TransactionId } from "../../networks/core/TransactionValues.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import * as Rows from "../../sql/Rows.ts"
import { commitSignalOf } from "../lifecycle/Lifecycle.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { client, query } from "../../sql/Transaction.ts"
import { Secrets } from "../secrets/Secrets.ts"
import * as LanesRepo from "./LanesRepo.ts"
import { LedgerRules } from "./LedgerEntries.ts"
import type { Account, LaneId, StoredLane } from "./LedgerEntries.ts"

// Reads and writes channels: the further accounts of lanes, their keys, and the transactions that make and end them.

/** A transaction that the service makes itself. */
interface ChannelTransaction {
  readonly id: TransactionId
  readonly request: unknown
  readonly priority: number
  readonly validUntil: Moment
}

/** A new account, with its key. */
interface SealedChannel {
  readonly address: string
  readonly sealed: Uint8Array
}

const LaneWithChannelsRow = Schema.Struct({
  chain: Schema.String,
  address: Schema.String,
  count: Schema.Int,
  /** The number of channels that are being made or ended, so that transactions cannot use them. */
  unready: Schema.Int,
  /** The number of channels on which an open transaction has a place. */
  used: Schema.Int
})

const readLanes = Rows.all(LaneWithChannelsRow)
const readKeys = Rows.first(Schema.Struct({ sealed: Schema.Uint8Array }))
const readWork = Rows.one(
  Rows.withoutNulls(Schema.Struct({ is_open: Schema.Boolean, failed_at: Schema.optionalKey(Schema.Int) }))
)

const makeChannelsRepo = Effect.gen(function* () {
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

  const insertWork = (
    lane: LaneId,
    account: Account,
    { id, priority, request, validUntil }: ChannelTransaction,
    now: Moment
  ) =>
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

/** A lane with channels that are not ended. */
export interface LaneWithChannels extends LaneKey {
  readonly count: number
  /** The number of channels that are being made or ended, so that transactions cannot use them. */
  readonly unready: number
  /** The number of channels on which an open transaction has a place. */
  readonly used: number
}

/** A new account, with the seed of its key in hex. */
export interface NewChannel {
  readonly address: string
  readonly seed: Redacted.Redacted
}

export interface LaneChannels {
  /** None: nothing was accepted for the account, and it has no channels. */
  readonly lane: Option.Option<StoredLane>
  /** Whether a transaction is open that makes or ends channels. */
  readonly isWorking: boolean
  /** When such a transaction failed last. Absent: never. */
  readonly failedAt?: Moment
}

export interface ChannelWork extends ChannelTransaction {
  /** The new channels, and the counters that the network stores of each. */
  readonly channels: ReadonlyArray<NewChannel>
  readonly counters: unknown
}

/** The seal binds the key to the address: if somebody exchanges one of them, the service notices it. */
const placeOf = (address: string) => ({ table: "channel_keys", id: address, column: "key" })

export const makeLaneChannels = Effect.gen(function* () {
  const repo = yield* makeChannelsRepo
  const lanes = yield* LanesRepo.make
  const secrets = yield* Secrets
  const transaction = yield* Transaction.make
  const due = yield* commitSignalOf("lanes")

  const channelSeed = Effect.fn("LaneLedger.channelSeed")(function* (address: string) {
    const sealed = yield* repo.findKey(address)
    if (Option.isNone(sealed)) return Option.none()
    return yield* Effect.option(secrets.open(sealed.value, placeOf(address)))
  })

  const stateOf = Effect.fnUntraced(function* (lane: Option.Option<StoredLane>) {
    if (Option.isNone(lane)) return { lane, isWorking: false } satisfies LaneChannels
    const { failed_at, is_open } = yield* repo.work(lane.value.id)
    const state: LaneChannels = {
      lane,
      isWorking: is_open,
      ...(failed_at === undefined ? {} : { failedAt: failed_at })
    }
    return state
  })

  const channelsOf = Effect.fn("LaneLedger.channelsOf")((account: Account) =>
    Effect.flatMap(lanes.find(account), stateOf)
  )

  const sealedOf = ({ address, seed }: NewChannel) =>
    Effect.map(secrets.seal(seed, placeOf(address)), (sealed) => ({ address, sealed }))

  /** The lock prevents two processes from beginning the same work. */
  const beginChannelWork = Effect.fn("LaneLedger.beginChannelWork")(function* (
    account: Account,
    { channels, counters, ...work }: ChannelWork
  ) {
    yield* lanes.ensure([account])
    const { isWorking, lane } = yield* stateOf(yield* lanes.findLocked(account))
    if (isWorking || Option.isNone(lane)) return
    const { id } = lane.value
    yield* repo.insert(id, account, counters, yield* Effect.forEach(channels, sealedOf))
    yield* repo.insertWork(id, account, work, yield* Clock.currentTimeMillis)
    yield* due.afterCommit
  }, transaction)

  return { channelSeed, lanesWithChannels: repo.lanes, channelsOf, beginChannelWork }
})

// Transactions of the service that restore the entries of a call before it can be signed. They belong to the relayer of the call.

/** A transaction that waits for a restore that has not begun. */
const Waiting = Schema.Struct({ id: TransactionId, relayer_number: Schema.Int })

const readWaiting = Rows.all(Waiting)
const readIds = Rows.all(Schema.Struct({ id: TransactionId }))

export interface Restore {
  readonly id: TransactionId
  /** As the network stores requests. */
  readonly request: unknown
  readonly validUntil: Moment
}

/** The most restores that begin in one round. */
export const maxBegunRestores = 100

export const makeLaneRestores = Effect.gen(function* () {
  const sql = yield* client
  const networks = yield* LedgerRules
  const transaction = yield* Transaction.make
  const due = yield* commitSignalOf("lanes")

  /** A failed restore counts as begun: it is not tried again, because its fee is lost. */
  const isBegun = sql`EXISTS (
    SELECT FROM transactions r
    WHERE r.lane_id = t.lane_id AND r.origin = 'restore' AND r.request -> 'restore' ->> 'for' = t.id::text
      AND (r.final_at IS NULL OR r.state = 'failed'))`

  /** The figures contain the fee of the restore only if the request pays for it. */
  const isWaiting = sql`t.state = 'pending' AND t.code = 'needs_restore' AND (t.figures -> 'fee') IS NOT NULL`

  const waitingForRestore = (type: string) =>
    sql`
      SELECT t.id, t.relayer_number::float8 AS relayer_number FROM lanes l JOIN transactions t ON t.lane_id = l.id
      WHERE l.parent_id IS NULL AND starts_with(l.chain, ${`${type}:`}) AND ${isWaiting} AND NOT ${isBegun}
      ORDER BY t.number LIMIT ${maxBegunRestores}`.pipe(
      Effect.flatMap(readWaiting),
      query("LaneRestores.waitingForRestore")
    )

  /** The row lock prevents two processes from beginning the same restore. */
  const lock = (id: TransactionId) =>
    sql`SELECT t.id FROM transactions t WHERE t.id = ${id}::uuid AND ${isWaiting} FOR UPDATE`.pipe(
      Effect.flatMap(readIds),
      query("LaneRestores.lock")
    )

  const insert = (chain: string, of: TransactionId, { id, request, validUntil }: Restore, now: Moment) => {
    const moment = (at: Moment) => sql`to_timestamp(${at}::float8 / 1000)`
    return sql`
      INSERT INTO transactions (
        id, relayer_id, relayer_number, lane_id, generation, origin, request, facts, state, code, code_since, figures,
        priority, valid_until, api_key_id, created_at
      )
      SELECT ${id}::uuid, t.relayer_id, t.relayer_number, t.lane_id, t.generation, 'restore',
        ${networks.of(chain).request.text(request)}::json, '{}', 'pending', 'queued', ${moment(now)}, '{}', 1,
        ${moment(validUntil)}, t.api_key_id, ${moment(now)}
      FROM transactions t WHERE t.id = ${of}::uuid AND NOT ${isBegun}`.pipe(query("LaneRestores.insert"))
  }

  const beginRestore = Effect.fn("LaneLedger.beginRestore")(function* (
    chain: string,
    of: TransactionId,
    restore: Restore
  ) {
    if ((yield* lock(of)).length === 0) return
    yield* insert(chain, of, restore, yield* Clock.currentTimeMillis)
    yield* due.afterCommit
  }, transaction)

  return { waitingForRestore, beginRestore }
})
