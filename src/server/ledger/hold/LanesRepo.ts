// The table `lanes`; `ClaimsRepo` writes who holds them.
import { Array, Effect, Option, Schema } from "effect"
import type { LaneAccount } from "../../../domain/transaction/Lane.ts"
import type { LaneKey } from "../../../domain/transaction/Rules.ts"
import * as UnnestRows from "../../../sql/batch/UnnestRows.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import * as Transaction from "../../../sql/Transaction.ts"
import { Holder } from "../Holder.ts"
import { LedgerMark } from "../LedgerMark.ts"
import { LedgerRules } from "../LedgerRules.ts"
import type { Hold, LaneId, LaneState } from "../StoredLane.ts"
import type { Gate } from "../write/TransactionsRepo.ts"
import * as LaneRow from "./LaneRow.ts"
import type { LaneAtEpoch } from "./LaneRow.ts"

const readAddresses = Rows.all(Schema.Struct({ address: Schema.String }))

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

/** A counter of an account that is to be `next` if it is `from`. */
export interface Move {
  readonly account: string
  readonly from: bigint
  readonly next: bigint
  /** Whether the chain has used everything below `next`, and nothing from it on. */
  readonly isProven: boolean
}

export const make = Effect.gen(function* () {
  const sql = yield* client
  const { id: holder } = yield* Holder
  const mark = yield* LedgerMark
  const rules = yield* LedgerRules
  const transaction = yield* Transaction.make
  const columns = LaneRow.columns(sql)
  const readLanes = LaneRow.reader(rules)
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

  /** Reads the lanes, in the order of the holds. A lane that the process does not hold any more is none. */
  const findHeld = (holds: ReadonlyArray<Hold>) => {
    const ids = holds.map(({ laneId }) => String(laneId))
    const epochs = holds.map(({ epoch }) => String(epoch))
    return sql`
      SELECT ${columns} FROM unnest(${ids}::bigint[], ${epochs}::bigint[]) AS given (id, epoch)
      JOIN lanes l ON l.id = given.id AND l.epoch = given.epoch WHERE ${isMine}`.pipe(
      Effect.flatMap(readLanes),
      Effect.map((found) => {
        const byId = new Map(found.map(({ stored }) => [stored.id, stored]))
        return holds.map(({ laneId }) => Option.fromUndefinedOr(byId.get(laneId)))
      }),
      query("LanesRepo.findHeld")
    )
  }

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

  /** Compares and sets the counters of other accounts of the lane, which is locked. False if one of them has another value. */
  const moveChannels = (laneId: LaneId, moves: ReadonlyArray<Move>) =>
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
          query("LanesRepo.moveChannels")
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
    return yield* moveChannels(
      hold.laneId,
      channels.map(({ account, from, count }) => ({ account, from, next: from + count, isProven: false }))
    )
  })

  /** All accounts of lanes on networks of the type, also of relayers that were deleted. */
  const addresses = (type: string) =>
    sql`SELECT DISTINCT l.address FROM lanes l WHERE starts_with(l.chain, ${`${type}:`})`.pipe(
      Effect.flatMap(readAddresses),
      Effect.map((rows) => rows.map(({ address }) => address)),
      query("LanesRepo.addresses")
    )

  const moment = (at: number) => sql`to_timestamp(${at}::float8 / 1000)`

  const countersText = (chain: string, { counters }: LaneAccount): string | null =>
    counters === undefined ? null : rules.of(chain).counters.text(counters)

  const rowOf =
    (chain: string) =>
    (account: LaneAccount): UnnestRows.Row => ({
      address: account.address,
      next_nonce: String(account.nextSequence),
      chain_nonce: String(account.chainSequence),
      settled_nonce: String(account.settledSequence),
      chain_block: account.chainBlock === undefined ? null : String(account.chainBlock.number),
      chain_hash: account.chainBlock?.hash ?? null,
      counters: countersText(chain, account)
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
      FROM ${UnnestRows.make(sql, channels.map(rowOf(chain)))} ORDER BY n
      ON CONFLICT (chain, address) DO UPDATE SET next_nonce = excluded.next_nonce, chain_nonce = excluded.chain_nonce,
        settled_nonce = excluded.settled_nonce, chain_block = excluded.chain_block, chain_hash = excluded.chain_hash,
        counters = excluded.counters, released_at = NULL
      WHERE c.parent_id = excluded.parent_id RETURNING c.address`.pipe(
      Effect.flatMap(readAddresses),
      Effect.map((rows) => new Set(rows.map(({ address }) => address))),
      query("LanesRepo.saveChannels")
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
          query("LanesRepo.releaseChannels")
        )

  /** Whether the account belongs to the lane of another one. */
  const isChannel = (key: LaneKey) =>
    sql`SELECT 1 FROM lanes l WHERE ${named(key)} AND l.parent_id IS NOT NULL`.pipe(
      Effect.map((rows) => rows.length > 0),
      query("LanesRepo.isChannel")
    )

  const saveOwn = (hold: Hold, { chain, lane, genesis, usedTrust, code, nextPollAt }: LaneState, now: number) => {
    const [own] = lane.accounts
    const { number = null, hash = null } = own.chainBlock ?? {}
    return sql`
      UPDATE lanes l SET next_nonce = ${String(own.nextSequence)}::bigint,
        chain_nonce = ${String(own.chainSequence)}::bigint, settled_nonce = ${String(own.settledSequence)}::bigint,
        chain_block = ${number}::bigint, chain_hash = ${hash}::text, counters = ${countersText(chain, own)}::json,
        window_size = ${lane.windowSize}, genesis = ${genesis ?? null}::text,
        trusts_count = l.trusts_count AND NOT ${usedTrust}, next_poll_at = ${moment(nextPollAt)},
        code = ${code ?? null}::text,
        code_since = CASE WHEN l.code IS NOT DISTINCT FROM ${code ?? null}::text THEN l.code_since
          ELSE ${code === undefined ? sql`NULL` : moment(now)} END
      WHERE ${held(hold)} AND l.generation = ${lane.generation}
      RETURNING ${columns}`.pipe(Effect.flatMap(readLanes), Effect.map(first), query("LanesRepo.save"))
  }

  /** None if it is not held. A lane with several accounts is saved in one SQL transaction. */
  const save = (hold: Hold, state: LaneState, now: number) => {
    const [own, ...channels] = state.lane.accounts
    const { released = [] } = state
    if (channels.length === 0 && released.length === 0) return saveOwn(hold, state, now)
    const all = Effect.gen(function* () {
      const saved = yield* saveOwn(hold, state, now)
      if (Option.isNone(saved)) return saved
      const adopted =
        channels.length === 0 ? new Set<string>() : yield* saveChannels(hold.laneId, state.chain, channels)
      yield* releaseChannels(hold.laneId, released, now)
      const accounts = channels.filter(({ address }) => adopted.has(address))
      return Option.some({ ...saved.value, lane: { ...state.lane, accounts: Array.prepend(accounts, own) } })
    })
    return transaction(all)
  }

  /** Locks the lane of an operator's command until the transaction ends. */
  const lock = (key: LaneKey) =>
    sql`SELECT ${columns} FROM lanes l WHERE ${named(key)} FOR NO KEY UPDATE`.pipe(
      Effect.flatMap(readLanes),
      Effect.map(first),
      query("LanesRepo.lock")
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
    findHeld,
    holding,
    gate,
    fence,
    assign,
    moveChannels,
    save,
    lock,
    trustCount,
    beginGeneration,
    ensure,
    isChannel,
    addresses
  }
})
