// The table `lanes`; `ClaimsRepo` writes who holds them.
import { Context, Effect, Layer, Option } from "effect"
import { client, query } from "../../sql/Query.ts"
import { Holder } from "./Holder.ts"
import * as LaneRow from "./LaneRow.ts"
import type { LaneAtEpoch } from "./LaneRow.ts"
import { LedgerMark } from "./LedgerMark.ts"
import type { Hold, LaneId, LaneKey, LaneState } from "./StoredLane.ts"

const first = (found: ReadonlyArray<LaneAtEpoch>) => Option.fromUndefinedOr(found[0]?.stored)

export interface Assignment {
  readonly from: number
  readonly count: number
  readonly generation: number
}

export class LanesRepo extends Context.Service<
  LanesRepo,
  {
    find(key: LaneKey): Effect.Effect<Option.Option<LaneAtEpoch["stored"]>>
    findById(id: LaneId): Effect.Effect<Option.Option<LaneAtEpoch["stored"]>>
    /** None if it is not held. */
    findHeld(hold: Hold): Effect.Effect<Option.Option<LaneAtEpoch["stored"]>>
    /** The fence: locks the lane until the transaction ends. False if it is not held. */
    fence(hold: Hold): Effect.Effect<boolean>
    /** The fence of nonces. False if the lane is not held, or has another next nonce or generation. */
    assign(hold: Hold, assignment: Assignment): Effect.Effect<boolean>
    /** None if it is not held. */
    save(hold: Hold, state: LaneState, now: number): Effect.Effect<Option.Option<LaneAtEpoch["stored"]>>
    /** Locks the lane of an operator's command until the transaction ends. */
    lock(key: LaneKey): Effect.Effect<Option.Option<LaneAtEpoch["stored"]>>
    trustCount(key: LaneKey): Effect.Effect<void>
    /** Starts with nonce 0. The process that holds the lane has lost it. */
    beginGeneration(key: LaneKey, window: number): Effect.Effect<void>
    /** Creates those that do not exist. */
    ensure(lanes: ReadonlyArray<LaneKey & { readonly window: number }>): Effect.Effect<void>
  }
>()("effect-relayer/server/ledger/LanesRepo") {
  static readonly layer = Layer.effect(
    LanesRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const { id: holder } = yield* Holder
      const mark = yield* LedgerMark
      const columns = LaneRow.columns(sql)
      const named = ({ chain, address }: LaneKey) => sql`l.chain = ${chain} AND l.address = ${address}`

      const held = ({ laneId, epoch }: Hold) => sql`
        l.id = ${laneId}::bigint AND l.epoch = ${epoch}::bigint AND l.holder = ${holder}::uuid
        AND l.held_until > now() AND ${mark.isCurrent}`

      const find = (key: LaneKey) =>
        sql`SELECT ${columns} FROM lanes l WHERE ${named(key)}`.pipe(
          Effect.flatMap(LaneRow.readAll),
          Effect.map(first),
          query("LanesRepo.find")
        )

      const findById = (id: LaneId) =>
        sql`SELECT ${columns} FROM lanes l WHERE l.id = ${id}::bigint`.pipe(
          Effect.flatMap(LaneRow.readAll),
          Effect.map(first),
          query("LanesRepo.findById")
        )

      const findHeld = (hold: Hold) =>
        sql`SELECT ${columns} FROM lanes l WHERE ${held(hold)}`.pipe(
          Effect.flatMap(LaneRow.readAll),
          Effect.map(first),
          query("LanesRepo.findHeld")
        )

      const fence = (hold: Hold) =>
        sql`SELECT 1 FROM lanes l WHERE ${held(hold)} FOR NO KEY UPDATE`.pipe(
          Effect.map((rows) => rows.length === 1),
          query("LanesRepo.fence")
        )

      const assign = (hold: Hold, { from, count, generation }: Assignment) =>
        sql`
          UPDATE lanes l SET next_nonce = ${from + count}::bigint
          WHERE ${held(hold)} AND l.next_nonce = ${from}::bigint AND l.generation = ${generation}
          RETURNING 1`.pipe(
          Effect.map((rows) => rows.length === 1),
          query("LanesRepo.assign")
        )

      const moment = (at: number) => sql`to_timestamp(${at}::float8 / 1000)`

      const save = (hold: Hold, { lane, genesis, usedTrust, code, nextPollAt }: LaneState, now: number) =>
        sql`
          UPDATE lanes l SET next_nonce = ${lane.nextNonce}::bigint, chain_nonce = ${lane.chainNonce}::bigint,
            settled_nonce = ${lane.settledNonce}::bigint, chain_block = ${lane.chainBlock?.number ?? null}::bigint,
            chain_hash = ${lane.chainBlock?.hash ?? null}::text, window_size = ${lane.windowSize},
            genesis = ${genesis ?? null}::text, trusts_count = l.trusts_count AND NOT ${usedTrust}, next_poll_at = ${moment(nextPollAt)},
            code = ${code ?? null}::text,
            code_since = CASE WHEN l.code IS NOT DISTINCT FROM ${code ?? null}::text THEN l.code_since
              ELSE ${code === undefined ? sql`NULL` : moment(now)} END
          WHERE ${held(hold)} AND l.generation = ${lane.generation}
          RETURNING ${columns}`.pipe(Effect.flatMap(LaneRow.readAll), Effect.map(first), query("LanesRepo.save"))

      const lock = (key: LaneKey) =>
        sql`SELECT ${columns} FROM lanes l WHERE ${named(key)} FOR NO KEY UPDATE`.pipe(
          Effect.flatMap(LaneRow.readAll),
          Effect.map(first),
          query("LanesRepo.lock")
        )

      const trustCount = (key: LaneKey) =>
        sql`UPDATE lanes l SET trusts_count = true WHERE ${named(key)}`.pipe(
          Effect.asVoid,
          query("LanesRepo.trustCount")
        )

      const beginGeneration = (key: LaneKey, window: number) =>
        sql`
          UPDATE lanes l SET generation = l.generation + 1, next_nonce = 0, chain_nonce = 0, settled_nonce = 0,
            chain_block = NULL, chain_hash = NULL, genesis = NULL, window_size = ${window}, trusts_count = false,
            holder = NULL, held_until = NULL, epoch = l.epoch + 1, code = NULL, code_since = NULL, next_poll_at = now()
          WHERE ${named(key)}`.pipe(Effect.asVoid, query("LanesRepo.beginGeneration"))

      // In the order of their keys, so that two batches cannot wait for each other.
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

      return LanesRepo.of({ find, findById, findHeld, fence, assign, save, lock, trustCount, beginGeneration, ensure })
    })
  )
}
