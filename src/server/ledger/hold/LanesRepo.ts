// The table `lanes`; `ClaimsRepo` writes who holds them, `LaneAccountsRepo` what channels have.
import { Array, Effect, Option } from "effect"
import type { LaneKey } from "../../../domain/transaction/Rules.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Transaction from "../../../sql/Transaction.ts"
import { Holder } from "../Holder.ts"
import { LedgerMark } from "../LedgerMark.ts"
import { LedgerRules } from "../LedgerRules.ts"
import type { Hold, LaneId, LaneState } from "../StoredLane.ts"
import type { Gate } from "../write/TransactionsRepo.ts"
import { LaneChanged } from "./HeldLane.ts"
import * as LaneAccountsRepo from "./LaneAccountsRepo.ts"
import * as LaneRow from "./LaneRow.ts"
import type { LaneAtEpoch } from "./LaneRow.ts"

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

export const make = Effect.gen(function* () {
  const sql = yield* client
  const { id: holder } = yield* Holder
  const mark = yield* LedgerMark
  const rules = yield* LedgerRules
  const transaction = yield* Transaction.make
  const accounts = yield* LaneAccountsRepo.make
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

  const moment = LaneRow.moment(sql)

  /** Whether the account belongs to the lane of another one. */
  const isChannel = (key: LaneKey) =>
    sql`SELECT 1 FROM lanes l WHERE ${named(key)} AND l.parent_id IS NOT NULL`.pipe(
      Effect.map((rows) => rows.length > 0),
      query("LanesRepo.isChannel")
    )

  /** A save whose connection was cut can run after later ones, and after commits: it compares what it replaces. */
  const isAsRead = ({ lane, nextPollAt }: LaneState["read"]) => {
    const [{ nextSequence, chainSequence, settledSequence }] = lane.accounts
    return sql`l.next_nonce = ${String(nextSequence)}::bigint AND l.chain_nonce = ${String(chainSequence)}::bigint
      AND l.settled_nonce = ${String(settledSequence)}::bigint AND ${LaneRow.millisOf(sql)("next_poll_at")} = ${String(nextPollAt)}::bigint`
  }

  const saveOwn = (hold: Hold, { chain, read, lane, genesis, usedTrust, code, nextPollAt }: LaneState, now: number) => {
    const [own] = lane.accounts
    const { number = null, hash = null } = own.chainBlock ?? {}
    return sql`
      UPDATE lanes l SET next_nonce = ${String(own.nextSequence)}::bigint,
        chain_nonce = ${String(own.chainSequence)}::bigint, settled_nonce = ${String(own.settledSequence)}::bigint,
        chain_block = ${number}::bigint, chain_hash = ${hash}::text, counters = ${LaneRow.countersText(rules, chain, own)}::json,
        window_size = ${lane.windowSize}, genesis = ${genesis ?? null}::text,
        trusts_count = l.trusts_count AND NOT ${usedTrust}, next_poll_at = ${moment(nextPollAt)},
        code = ${code ?? null}::text,
        code_since = CASE WHEN l.code IS NOT DISTINCT FROM ${code ?? null}::text THEN l.code_since
          ELSE ${code === undefined ? sql`NULL` : moment(now)} END
      WHERE ${held(hold)} AND l.generation = ${lane.generation} AND ${isAsRead(read)}
      RETURNING ${columns}`.pipe(Effect.flatMap(readLanes), Effect.map(first), query("LanesRepo.save"))
  }

  /** None, or `LaneChanged`, if it is not held or is not as it was read. A lane with several accounts is saved in one SQL transaction. */
  const save = (hold: Hold, state: LaneState, now: number) => {
    const [own, ...channels] = state.lane.accounts
    const { released = [], read } = state
    const [, ...former] = read.lane.accounts
    if (former.length === 0 && channels.length === 0 && released.length === 0) return saveOwn(hold, state, now)
    const all = Effect.gen(function* () {
      const saved = yield* saveOwn(hold, state, now)
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
    save,
    lock,
    findLocked,
    trustCount,
    beginGeneration,
    ensure,
    isChannel
  }
})
