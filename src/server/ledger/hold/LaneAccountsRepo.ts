// The table `lanes`: its rows of channels, which belong to the lane of another account, and the addresses of all rows.
import { Effect, Schema } from "effect"
import type { LaneAccount } from "../../../domain/transaction/Lane.ts"
import type { NetworkType } from "../../../domain/network/Network.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import { addressesIn, unnestRows } from "../../../sql/Rows.ts"
import type { AddressPart, UnnestRow } from "../../../sql/Rows.ts"
import { LedgerRules } from "../LedgerRules.ts"
import type { LaneId } from "../StoredLane.ts"
import * as LaneRow from "./LaneRow.ts"

const readComparison = Rows.one(Schema.Struct({ are_these: Schema.Boolean }))
const readAddresses = Rows.all(Schema.Struct({ address: Schema.String }))

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
  const rules = yield* LedgerRules
  const moment = LaneRow.moment(sql)

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

  /** Addresses of lanes on networks of the type that have the letters of `part`, also of relayers that were deleted. */
  const addresses = (type: NetworkType, part: AddressPart) =>
    addressesIn(sql, "lanes", `starts_with(t.chain, '${type}:')`, part).pipe(
      Effect.flatMap(Rows.words),
      query("LaneAccountsRepo.addresses")
    )

  const rowOf =
    (chain: string) =>
    (account: LaneAccount): UnnestRow => ({
      address: account.address,
      next_nonce: String(account.nextSequence),
      chain_nonce: String(account.chainSequence),
      settled_nonce: String(account.settledSequence),
      chain_block: account.chainBlock === undefined ? null : String(account.chainBlock.number),
      chain_hash: account.chainBlock?.hash ?? null,
      counters: LaneRow.countersText(rules, chain, account)
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
