// The table `lanes`: lanes as its rows, their own accounts and their channels. `Claims.ts` writes who holds them.
import { Array, Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { NetworkType } from "../../domain/network/Network.ts"
import { Code } from "../../networks/core/Cause.ts"
import type { LaneKey } from "../../networks/core/Rules.ts"
import { present } from "../../networks/core/Presentation.ts"
import type { LaneAccount, Watched } from "../../networks/core/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import { addressesIn, unnestRows } from "../../sql/Rows.ts"
import type { AddressPart, UnnestRow } from "../../sql/Rows.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { client, query } from "../../sql/Transaction.ts"
import { Holder, LedgerMark } from "./Holder.ts"
import { LaneChanged, LaneId, LedgerRules } from "./LedgerEntries.ts"
import type { Hold, LaneState, LedgerNetwork, StoredLane } from "./LedgerEntries.ts"
import { givenCostOf } from "./SignaturesRepo.ts"
import type { Gate } from "./TransactionsRepo.ts"

// Lanes as the rows of the table `lanes`.

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

/** What is stored of a check of an account. */
const StoredWatch = Schema.Struct({
  sequence: Schema.BigIntFromString,
  at: Schema.Int,
  changed: optional(Schema.String),
  since: optional(Schema.Int)
})

const watchText = (watched: Watched): string => JSON.stringify(Schema.encodeSync(StoredWatch)(watched))

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
    watched: optional(StoredWatch),
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
  { counters: json, channels: json, watched: json }
)
type Row = (typeof Row)["Type"]

const read = Rows.all(Row)

/** `at`: milliseconds. */
const laneMoment = (sql: SqlClient.SqlClient) => (at: number) => sql`to_timestamp(${at}::float8 / 1000)`

/** A moment of the lane `l` in milliseconds. */
const laneMillis = (sql: SqlClient.SqlClient) => (column: string) =>
  sql`(extract(epoch FROM l.${sql(column)}) * 1000)::bigint`

/** JSON of what only the network of the account counts. */
const countersText = (rules: LedgerRules["Service"], chain: string, { counters }: LaneAccount): string | null =>
  counters === undefined ? null : rules.of(chain).counters.text(counters)

/** The columns of the lane `l`. */
export const laneColumns = (sql: SqlClient.SqlClient) => {
  const number = (column: string) => sql`l.${sql(column)}::float8 AS ${sql(column)}`
  const millis = (column: string) => sql`${laneMillis(sql)(column)}::float8 AS ${sql(column)}`
  return sql`
    ${number("id")}, l.chain, l.address, l.generation, l.genesis, l.next_nonce::text AS next_nonce,
    l.chain_nonce::text AS chain_nonce, ${number("chain_block")}, l.chain_hash, l.settled_nonce::text AS settled_nonce,
    l.counters::text AS counters, l.watched::text AS watched, l.window_size, l.trusts_count, (
      SELECT json_agg(json_strip_nulls(json_build_object('address', c.address, 'next_nonce', c.next_nonce::text,
        'chain_nonce', c.chain_nonce::text, 'chain_block', c.chain_block, 'chain_hash', c.chain_hash,
        'settled_nonce', c.settled_nonce::text, 'counters', c.counters)) ORDER BY c.id)
      FROM lanes c WHERE c.parent_id = l.id AND c.released_at IS NULL
    )::text AS channels,
    coalesce(l.held_until > now(), false) AS is_held, ${number("epoch")}, ${millis("next_poll_at")},
    (extract(epoch FROM pg_postmaster_start_time()) * 1000)::bigint::float8 AS started_at,
    ${givenCostOf(sql)}::text AS given_cost, l.code,
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
          accounts: [
            { ...accountOf(own, row), ...present("watched", row.watched) },
            ...(row.channels ?? []).map((channel) => accountOf(own, channel))
          ]
        },
        ...(row.given_cost === undefined ? {} : { givenCost: row.given_cost }),
        ...(row.genesis === undefined ? {} : { genesis: row.genesis }),
        ...(row.code === undefined ? {} : { code: row.code }),
        ...(row.code_since === undefined ? {} : { codeSince: row.code_since })
      }
    }
  }

export const laneReader = (rules: LedgerRules["Service"]) => {
  const toLane = laneOf(rules)
  return (rows: ReadonlyArray<unknown>) => Effect.map(read(rows), (found) => found.map(toLane))
}

// The table `lanes`: its rows of channels, which belong to the lane of another account, and the addresses of all rows.

const readComparison = Rows.one(Schema.Struct({ are_these: Schema.Boolean }))
const readAddresses = Rows.all(Schema.Struct({ address: Schema.String }))

/** A counter of an account that is to be `next` if it is `from`. */
export interface CounterMove {
  readonly account: string
  readonly from: bigint
  readonly next: bigint
  /** Whether the chain has used everything below `next`, and nothing from it on. */
  readonly isProven: boolean
}

export const makeLaneAccounts = Effect.gen(function* () {
  const sql = yield* client
  const rules = yield* LedgerRules
  const moment = laneMoment(sql)

  /** Compares and sets the counters of other accounts of the lane, which is locked. False if one of them has another value. */
  const moveChannels = (laneId: LaneId, moves: ReadonlyArray<CounterMove>) =>
    moves.length === 0
      ? Effect.succeed(true)
      : sql`
          UPDATE lanes c SET next_nonce = given.next,
            chain_nonce = CASE WHEN given.proven THEN given.next ELSE c.chain_nonce END,
            settled_nonce = CASE WHEN given.proven THEN given.next ELSE c.settled_nonce END
          FROM unnest(${moves.map(({ account }) => account)}::text[], ${moves.map(({ from }) => String(from))}::bigint[],
            ${moves.map(({ next }) => String(next))}::bigint[], ${moves.map(({ isProven }) => isProven)}::boolean[])
            AS given (account, former, next, proven)
          WHERE (c.parent_id = ${laneId}::bigint OR c.id = ${laneId}::bigint) AND c.address = given.account
            AND c.next_nonce = given.former
          RETURNING 1`.pipe(
          Effect.map((rows) => rows.length === moves.length),
          query("LaneAccountsRepo.moveChannels")
        )

  /** Whether these are the other accounts of the lane, with these next sequences. An earlier statement has locked the lane. */
  const areChannels = (laneId: LaneId, channels: ReadonlyArray<LaneAccount>) =>
    sql`
      SELECT NOT EXISTS (
        SELECT FROM (
          SELECT c.address, c.next_nonce FROM lanes c WHERE c.parent_id = ${laneId}::bigint AND c.released_at IS NULL
        ) stored FULL JOIN unnest(${channels.map(({ address }) => address)}::text[],
          ${channels.map(({ nextSequence }) => String(nextSequence))}::bigint[]) AS given (address, next) USING (address)
        WHERE stored.next_nonce IS DISTINCT FROM given.next
      ) AS are_these`.pipe(
      Effect.flatMap(readComparison),
      Effect.map(({ are_these }) => are_these),
      query("LaneAccountsRepo.areChannels")
    )

  /** Addresses of relayers and of their lanes on networks of the type that have the letters of `part`, also of relayers that were deleted. */
  const addresses = (type: NetworkType, part: AddressPart) =>
    addressesIn(
      sql,
      [
        { table: "relayers", condition: `t.network_type = '${type}'` },
        { table: "lanes", condition: `starts_with(t.chain, '${type}:')` }
      ],
      part
    ).pipe(Effect.flatMap(Rows.words), query("LaneAccountsRepo.addresses"))

  const rowOf =
    (chain: string) =>
    (account: LaneAccount): UnnestRow => ({
      address: account.address,
      next_nonce: String(account.nextSequence),
      chain_nonce: String(account.chainSequence),
      settled_nonce: String(account.settledSequence),
      chain_block: account.chainBlock === undefined ? null : String(account.chainBlock.number),
      chain_hash: account.chainBlock?.hash ?? null,
      counters: countersText(rules, chain, account)
    })

  /**
   * Writes what a poll has found out about the other accounts of a lane that this process holds. Adopts those that are new, and
   * returns the addresses of all that belong to the lane: an account of another lane is not adopted.
   */
  const saveChannels = (laneId: LaneId, chain: string, channels: ReadonlyArray<LaneAccount>) =>
    sql`
      INSERT INTO lanes AS c (parent_id, chain, address, window_size, next_nonce, chain_nonce, settled_nonce, chain_block,
        chain_hash, counters)
      SELECT ${laneId}::bigint, ${chain}, address, 1, next_nonce::bigint, chain_nonce::bigint, settled_nonce::bigint,
        chain_block::bigint, chain_hash, counters::json
      FROM ${unnestRows(sql, channels.map(rowOf(chain)))} ORDER BY n
      ON CONFLICT (chain, address) DO UPDATE SET next_nonce = excluded.next_nonce, chain_nonce = excluded.chain_nonce,
        settled_nonce = excluded.settled_nonce, chain_block = excluded.chain_block, chain_hash = excluded.chain_hash,
        counters = excluded.counters, released_at = NULL
      WHERE c.parent_id = excluded.parent_id RETURNING c.address`.pipe(
      Effect.flatMap(readAddresses),
      Effect.map((rows) => new Set(rows.map(({ address }) => address))),
      query("LaneAccountsRepo.saveChannels")
    )

  /** Accounts with an open transaction stay. */
  const releaseChannels = (laneId: LaneId, addresses: ReadonlyArray<string>, now: number) =>
    addresses.length === 0
      ? Effect.void
      : sql`
          UPDATE lanes c SET released_at = ${moment(now)}
          WHERE c.parent_id = ${laneId}::bigint AND c.address = ANY(${addresses}::text[]) AND c.released_at IS NULL
            AND NOT EXISTS (SELECT FROM transactions t WHERE t.channel_id = c.id AND t.final_at IS NULL)`.pipe(
          Effect.asVoid,
          query("LaneAccountsRepo.releaseChannels")
        )

  return { moveChannels, areChannels, addresses, saveChannels, releaseChannels }
})

const readLocked = Rows.all(Schema.Struct({ part: Schema.Int }))

const first = (found: ReadonlyArray<LaneAtEpoch>) => Option.fromUndefinedOr(found[0]?.stored)

/** Sequences of one account that a commit gives away. */
export interface Assignment {
  readonly account: string
  readonly from: bigint
  readonly count: bigint
}

export interface Assignments {
  readonly generation: number
  /** The sequences that the first account of the lane gets. Undefined: it gets none. */
  readonly own: Assignment | undefined
  readonly channels: ReadonlyArray<Assignment>
}

/** What a poll has found out about a lane that was read. */
export interface LaneSave {
  readonly hold: Hold
  readonly state: LaneState
  readonly now: number
}

/** Whether the save writes nothing of other accounts, so that it can be written together with those of other lanes. */
export const hasOneAccount = ({ lane, read, released = [] }: LaneState): boolean =>
  lane.accounts.length === 1 && read.lane.accounts.length === 1 && released.length === 0

/** A lane as one part of a write of several lanes expects it. */
export interface ExpectedLane {
  readonly hold: Hold
  /** What its first account gives away. Undefined: nothing. */
  readonly own: (Assignment & Pick<Assignments, "generation">) | undefined
  /** How many transactions the part writes. */
  readonly count: number
  /** Of how many channels it moves the counters. */
  readonly channels: number
}

export const make = Effect.gen(function* () {
  const sql = yield* client
  const { id: holder } = yield* Holder
  const mark = yield* LedgerMark
  const rules = yield* LedgerRules
  const transaction = yield* Transaction.make
  const accounts = yield* makeLaneAccounts
  const columns = laneColumns(sql)
  const readLanes = laneReader(rules)
  const named = ({ chain, address }: LaneKey) => sql`l.chain = ${chain} AND l.address = ${address}`

  const isMine = sql`l.holder = ${holder}::uuid AND l.held_until > now() AND ${mark.isCurrent}`

  const held = ({ laneId, epoch }: Hold) => sql`
    l.id = ${laneId}::bigint AND l.epoch = ${epoch}::bigint AND ${isMine}`

  const find = (key: LaneKey) =>
    sql`SELECT ${columns} FROM lanes l WHERE ${named(key)}`.pipe(
      Effect.flatMap(readLanes),
      Effect.map(first),
      query("LanesRepo.find")
    )

  const findById = (id: LaneId) =>
    sql`SELECT ${columns} FROM lanes l WHERE l.id = ${id}::bigint`.pipe(
      Effect.flatMap(readLanes),
      Effect.map(first),
      query("LanesRepo.findById")
    )

  /** A query for those of the lanes that this process holds. */
  const heldOf = (holds: ReadonlyArray<Hold>) => {
    const ids = holds.map(({ laneId }) => String(laneId))
    const epochs = holds.map(({ epoch }) => String(epoch))
    return sql`
      SELECT ${columns} FROM unnest(${ids}::bigint[], ${epochs}::bigint[]) AS given (id, epoch)
      JOIN lanes l ON l.id = given.id AND l.epoch = given.epoch WHERE ${isMine}`
  }

  /** Its rows, in the order of the holds. A lane that the process does not hold any more is none. */
  const readHeld = (holds: ReadonlyArray<Hold>, rows: ReadonlyArray<unknown>) =>
    Effect.map(readLanes(rows), (found) => {
      const byId = new Map(found.map(({ stored }) => [stored.id, stored]))
      return holds.map(({ laneId }) => Option.fromUndefinedOr(byId.get(laneId)))
    })

  const findHeld = (holds: ReadonlyArray<Hold>) =>
    heldOf(holds).pipe(
      Effect.flatMap((rows) => readHeld(holds, rows)),
      query("LanesRepo.findHeld")
    )

  const hasRow = Effect.map((rows: ReadonlyArray<unknown>) => rows.length === 1)

  /** Locks the lane until the transaction ends. No row if it is not held. */
  const holding = (hold: Hold) => sql`SELECT 1 FROM lanes l WHERE ${held(hold)} FOR NO KEY UPDATE`

  /** The same, and assigns sequences. No row also if the first account has another next sequence or generation. */
  const assigningOwn = (hold: Hold, { from, count }: Assignment, generation: number) => sql`
    UPDATE lanes l SET next_nonce = ${String(from + count)}::bigint
    WHERE ${held(hold)} AND l.next_nonce = ${String(from)}::bigint AND l.generation = ${generation}
    RETURNING 1`

  /** The fence as the gate of a write. Undefined: channels get sequences as well, so `assign` is needed. */
  const gate = (hold: Hold, assignments: Assignments | undefined): Gate | undefined => {
    if (assignments === undefined) return holding(hold)
    const { own, channels, generation } = assignments
    if (channels.length > 0) return undefined
    return own === undefined ? holding(hold) : assigningOwn(hold, own, generation)
  }

  /** The fence as a statement. False if the lane is not held. */
  const fence = (hold: Hold) => holding(hold).pipe(hasRow, query("LanesRepo.fence"))

  /**
   * Locks those of several lanes that are as their parts expect, until the transaction ends. A lane that another transaction locks is left out. Each row has the
   * number of the part from 1, the lane, `next`, the sequence after those that are given away, or null, and how many transactions the part writes and channels it moves.
   */
  const holdingAll = (expected: ReadonlyArray<ExpectedLane>) => {
    const given = unnestRows(
      sql,
      expected.map(({ hold: { laneId, epoch }, own, count, channels }) => ({
        lane: String(laneId),
        epoch: String(epoch),
        former: own === undefined ? null : String(own.from),
        next: own === undefined ? null : String(own.from + own.count),
        generation: own === undefined ? null : String(own.generation),
        count: String(count),
        channels: String(channels)
      }))
    )
    return sql`
      SELECT given.n AS part, l.id AS lane, given.next::bigint AS next, given.count::bigint AS count,
        given.channels::bigint AS channels
      FROM ${given} JOIN lanes l ON l.id = given.lane::bigint AND l.epoch = given.epoch::bigint
      WHERE ${isMine} AND (given.next IS NULL OR (l.next_nonce = given.former::bigint AND l.generation = given.generation::integer))
      ORDER BY l.id FOR NO KEY UPDATE OF l SKIP LOCKED`
  }

  /** The same as a statement: the numbers of the parts. */
  const holdAll = (expected: ReadonlyArray<ExpectedLane>) =>
    sql`SELECT part::float8 AS part FROM (${holdingAll(expected)}) held`.pipe(
      Effect.flatMap(readLocked),
      Effect.map((rows) => new Set(rows.map(({ part }) => part))),
      query("LanesRepo.holdAll")
    )

  /**
   * Gives away the sequences of a commit: compares and sets the counter of each account that occurs. False if the lane is not
   * held, or one of its counters or its generation is another one.
   */
  const assign = Effect.fnUntraced(function* (hold: Hold, assignments: Assignments | undefined) {
    if (assignments === undefined) return yield* fence(hold)
    const { own, channels, generation } = assignments
    const isHeld =
      own === undefined
        ? yield* fence(hold)
        : yield* assigningOwn(hold, own, generation).pipe(hasRow, query("LanesRepo.assign"))
    if (!isHeld) return false
    return yield* accounts.moveChannels(
      hold.laneId,
      channels.map(({ account, from, count }) => ({ account, from, next: from + count, isProven: false }))
    )
  })

  /** Whether the account belongs to the lane of another one. */
  const isChannel = (key: LaneKey) =>
    sql`SELECT 1 FROM lanes l WHERE ${named(key)} AND l.parent_id IS NOT NULL`.pipe(
      Effect.map((rows) => rows.length > 0),
      query("LanesRepo.isChannel")
    )

  const savedRow = ({ hold, state: { chain, read, lane, genesis, usedTrust, code, nextPollAt }, now }: LaneSave) => {
    const [own] = lane.accounts
    const [former] = read.lane.accounts
    return {
      lane: String(hold.laneId),
      epoch: String(hold.epoch),
      generation: String(lane.generation),
      former_next: String(former.nextSequence),
      former_chain: String(former.chainSequence),
      former_settled: String(former.settledSequence),
      former_poll_at: String(read.nextPollAt),
      next_nonce: String(own.nextSequence),
      chain_nonce: String(own.chainSequence),
      settled_nonce: String(own.settledSequence),
      chain_block: own.chainBlock === undefined ? null : String(own.chainBlock.number),
      chain_hash: own.chainBlock?.hash ?? null,
      counters: countersText(rules, chain, own),
      window_size: String(lane.windowSize),
      genesis: genesis ?? null,
      used_trust: String(usedTrust),
      next_poll_at: String(nextPollAt),
      code: code ?? null,
      now: String(now)
    }
  }

  /**
   * Saves lanes, and returns those that it has saved as they are stored now. A save whose connection was cut can run after later ones, and after commits: it
   * compares what it replaces. `waits`: for lanes that are locked; otherwise they are left out.
   */
  const saveOwn = (saves: ReadonlyArray<LaneSave>, waits: boolean) => {
    const at = (column: string) => sql`to_timestamp(given.${sql(column)}::float8 / 1000)`
    return sql`
      WITH given AS MATERIALIZED (
        SELECT given.* FROM ${unnestRows(sql, saves.map(savedRow))}
        JOIN lanes l ON l.id = given.lane::bigint AND l.epoch = given.epoch::bigint
        WHERE ${isMine} AND l.generation = given.generation::integer AND l.next_nonce = given.former_next::bigint
          AND l.chain_nonce = given.former_chain::bigint AND l.settled_nonce = given.former_settled::bigint
          AND ${laneMillis(sql)("next_poll_at")} = given.former_poll_at::bigint
        ORDER BY l.id FOR NO KEY UPDATE OF l ${waits ? sql`` : sql`SKIP LOCKED`}
      )
      UPDATE lanes l SET next_nonce = given.next_nonce::bigint, chain_nonce = given.chain_nonce::bigint,
        settled_nonce = given.settled_nonce::bigint, chain_block = given.chain_block::bigint, chain_hash = given.chain_hash,
        counters = given.counters::json, window_size = given.window_size::integer, genesis = given.genesis,
        trusts_count = l.trusts_count AND NOT given.used_trust::boolean, next_poll_at = ${at("next_poll_at")}, code = given.code,
        code_since = CASE WHEN l.code IS NOT DISTINCT FROM given.code THEN l.code_since WHEN given.code IS NOT NULL THEN ${at("now")} END
      FROM given WHERE l.id = given.lane::bigint
      RETURNING ${columns}`.pipe(
      Effect.flatMap(readLanes),
      Effect.map((found): ReadonlyMap<LaneId, StoredLane> => new Map(found.map(({ stored }) => [stored.id, stored]))),
      query("LanesRepo.save")
    )
  }

  /** Those that fit, without a wait. */
  const saveAll = (saves: ReadonlyArray<LaneSave>) => saveOwn(saves, false)

  const saveAlone = (one: LaneSave) =>
    Effect.map(saveOwn([one], true), (saved) => Option.fromUndefinedOr(saved.get(one.hold.laneId)))

  /** None, or `LaneChanged`, if it is not held or is not as it was read. A lane with several accounts is saved in one SQL transaction. */
  const save = (one: LaneSave) => {
    const { hold, state, now } = one
    if (hasOneAccount(state)) return saveAlone(one)
    const [own, ...channels] = state.lane.accounts
    const { released = [], read } = state
    const [, ...former] = read.lane.accounts
    const all = Effect.gen(function* () {
      const saved = yield* saveAlone(one)
      if (Option.isNone(saved)) return saved
      if (!(yield* accounts.areChannels(hold.laneId, former))) return yield* new LaneChanged({ laneId: hold.laneId })
      const adopted =
        channels.length === 0 ? new Set<string>() : yield* accounts.saveChannels(hold.laneId, state.chain, channels)
      yield* accounts.releaseChannels(hold.laneId, released, now)
      const kept = channels.filter(({ address }) => adopted.has(address))
      return Option.some({ ...saved.value, lane: { ...state.lane, accounts: Array.prepend(kept, own) } })
    })
    return transaction(all)
  }

  /** Locks the lane until the transaction ends. */
  const lock = (key: LaneKey) =>
    sql`SELECT 1 FROM lanes l WHERE ${named(key)} FOR NO KEY UPDATE`.pipe(Effect.asVoid, query("LanesRepo.lock"))

  /** The same, and reads it by a statement of its own: one that waits for the lock reads the rows of channels as they were before. */
  const findLocked = (key: LaneKey) => Effect.andThen(lock(key), find(key))

  /** Stores what a check has found out about the account of a lane. False: another check has stored something since `before` was read. */
  const watch = (key: LaneKey, before: Watched | undefined, watched: Watched) =>
    sql`
      UPDATE lanes l SET watched = ${watchText(watched)}::json
      WHERE ${named(key)}
        AND l.watched::jsonb IS NOT DISTINCT FROM ${before === undefined ? null : watchText(before)}::jsonb
      RETURNING 1`.pipe(
      Effect.map((rows) => rows.length > 0),
      query("LanesRepo.watch")
    )

  const trustCount = (key: LaneKey) =>
    sql`UPDATE lanes l SET trusts_count = true WHERE ${named(key)}`.pipe(Effect.asVoid, query("LanesRepo.trustCount"))

  /** All accounts start with sequence 0. The process that holds the lane has lost it. */
  const beginGeneration = (key: LaneKey, window: number) =>
    sql`
      UPDATE lanes l SET generation = l.generation + 1, next_nonce = 0, chain_nonce = 0, settled_nonce = 0,
        chain_block = NULL, chain_hash = NULL, genesis = NULL, window_size = ${window}, trusts_count = false,
        holder = NULL, held_until = NULL, epoch = l.epoch + 1, code = NULL, code_since = NULL, next_poll_at = now()
      WHERE ${named(key)} OR l.parent_id = (SELECT l.id FROM lanes l WHERE ${named(key)})`.pipe(
      Effect.asVoid,
      query("LanesRepo.beginGeneration")
    )

  /** Creates those that do not exist, in the order of their keys, so that two batches cannot wait for each other. */
  const ensure = (lanes: ReadonlyArray<LaneKey & { readonly window: number }>) => {
    const chains = lanes.map(({ chain }) => chain)
    const addresses = lanes.map(({ address }) => address)
    const windows = lanes.map(({ window }) => String(window))
    return sql`
      INSERT INTO lanes (chain, address, window_size)
      SELECT chain, address, min(size) FROM unnest(${chains}::text[], ${addresses}::text[], ${windows}::integer[])
        AS given (chain, address, size)
      WHERE NOT EXISTS (SELECT FROM lanes l WHERE l.chain = given.chain AND l.address = given.address)
      GROUP BY chain, address ORDER BY chain, address
      ON CONFLICT DO NOTHING`.pipe(Effect.asVoid, query("LanesRepo.ensure"))
  }

  return {
    find,
    findById,
    heldOf,
    readHeld,
    findHeld,
    holding,
    holdingAll,
    holdAll,
    gate,
    fence,
    assign,
    saveAll,
    save,
    lock,
    findLocked,
    trustCount,
    watch,
    beginGeneration,
    ensure,
    isChannel
  }
})
