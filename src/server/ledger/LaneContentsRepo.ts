// Reads the transactions of one lane. Rows are named by their version, so that those that did not change are not read again.
import { Context, Effect, Layer, Schema } from "effect"
import { TransactionId } from "../../domain/transaction/EvmTransaction.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { maxNoncesPerCommit } from "../../domain/transaction/Numbers.ts"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"
import type { LaneId } from "./StoredLane.ts"
import { RowState } from "./TransactionsRepo.ts"

/**
 * Pending transactions of each relayer and kind that are read at once. Kinds: those that an operator has to decide, those with
 * a required nonce, those whose `not_before` is in the future, and all others. A kind that waits hides no other one.
 */
const pendingLimit = 2 * maxNoncesPerCommit

/** Pending transactions that one statement ends because of their deadline. */
const overdueLimit = 500

const optional = Schema.optionalKey

const readStates = Rows.all(
  Rows.withoutNulls(
    Schema.Struct({
      ...RowState.fields,
      pending: optional(Schema.Int),
      valid_until: optional(Schema.Int),
      not_before: optional(Schema.Int)
    })
  )
)
const readNonces = Rows.all(Schema.Struct({ nonce: Schema.Int }))
const readIds = Rows.all(Schema.Struct({ id: TransactionId }))

export interface OpenStates {
  /** Transactions with a nonce that are not final, by nonce; then those that are pending. */
  readonly states: ReadonlyArray<RowState>
  /** The number of all pending transactions. */
  readonly pendingCount: number
  /** The earliest deadline or beginning of a pending transaction. */
  readonly nextMoment: Moment | undefined
}

export class LaneContentsRepo extends Context.Service<
  LaneContentsRepo,
  {
    states(lane: LaneId, now: Moment): Effect.Effect<OpenStates>
    /** Every transaction that is not final. */
    open(lane: LaneId): Effect.Effect<ReadonlyArray<TransactionId>>
    overdue(lane: LaneId, now: Moment): Effect.Effect<ReadonlyArray<TransactionId>>
    noncesFrom(lane: LaneId, generation: number, from: number): Effect.Effect<ReadonlyArray<number>>
    finalFrom(
      lane: LaneId,
      generation: number,
      from: number,
      limit: number
    ): Effect.Effect<ReadonlyArray<TransactionId>>
    openBetween(lane: LaneId, from: number, to: number): Effect.Effect<ReadonlyArray<TransactionId>>
  }
>()("effect-relayer/server/ledger/LaneContentsRepo") {
  static readonly layer = Layer.effect(
    LaneContentsRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const hasNonce = sql`t.state IN ('signed', 'submitted', 'mined')`
      const idsOf = (rows: ReadonlyArray<unknown>) => Effect.map(readIds(rows), (found) => found.map(({ id }) => id))

      const states = (lane: LaneId, now: Moment) =>
        sql`
          SELECT id, version::float8 AS version, pending::float8 AS pending, nonce,
            (extract(epoch FROM valid_until) * 1000)::bigint::float8 AS valid_until,
            (extract(epoch FROM not_before) * 1000)::bigint::float8 AS not_before
          FROM (
            SELECT t.id, t.version, count(*) OVER () AS pending, t.nonce,
              min(t.valid_until) FILTER (WHERE NOT t.restored) OVER () AS valid_until,
              min(t.not_before) FILTER (WHERE later) OVER () AS not_before,
              row_number() OVER (
                PARTITION BY t.relayer_number, t.restored, t.required_nonce IS NULL, later
                ORDER BY t.required_nonce, t.priority DESC, greatest(t.created_at, t.not_before), t.number
              ) AS place
            FROM transactions t
            CROSS JOIN LATERAL (SELECT coalesce(t.not_before > to_timestamp(${now}::float8 / 1000), false)) later (later)
            WHERE t.lane_id = ${lane}::bigint AND t.state = 'pending'
          ) ranked WHERE place <= ${pendingLimit}
          UNION ALL
          SELECT t.id, t.version::float8, NULL, t.nonce, NULL, NULL FROM transactions t
          WHERE t.lane_id = ${lane}::bigint AND ${hasNonce}
          ORDER BY nonce`.pipe(
          Effect.flatMap(readStates),
          Effect.map((rows): OpenStates => {
            const first = rows.find(({ pending }) => pending !== undefined)
            const moments = [first?.valid_until, first?.not_before].filter((moment) => moment !== undefined)
            return {
              states: rows,
              pendingCount: first?.pending ?? 0,
              nextMoment: moments.length === 0 ? undefined : Math.min(...moments)
            }
          }),
          query("LaneContentsRepo.states")
        )

      const open = (lane: LaneId) =>
        sql`
          SELECT t.id FROM transactions t WHERE t.lane_id = ${lane}::bigint AND t.state = 'pending'
          UNION ALL SELECT t.id FROM transactions t WHERE t.lane_id = ${lane}::bigint AND ${hasNonce}`.pipe(
          Effect.flatMap(idsOf),
          query("LaneContentsRepo.open")
        )

      const overdue = (lane: LaneId, now: Moment) =>
        sql`
          SELECT t.id FROM transactions t WHERE t.lane_id = ${lane}::bigint AND t.state = 'pending' AND NOT t.restored
            AND t.valid_until <= to_timestamp(${now}::float8 / 1000) ORDER BY t.number LIMIT ${overdueLimit}`.pipe(
          Effect.flatMap(idsOf),
          query("LaneContentsRepo.overdue")
        )

      const atNonce = (lane: LaneId, generation: number, from: number) => sql`
        t.lane_id = ${lane}::bigint AND t.generation = ${generation} AND t.nonce >= ${from}::bigint`

      const noncesFrom = (lane: LaneId, generation: number, from: number) =>
        sql`
          SELECT t.nonce::float8 AS nonce FROM transactions t WHERE ${atNonce(lane, generation, from)} ORDER BY t.nonce`.pipe(
          Effect.flatMap(readNonces),
          Effect.map((rows) => rows.map(({ nonce }) => nonce)),
          query("LaneContentsRepo.noncesFrom")
        )

      const finalFrom = (lane: LaneId, generation: number, from: number, limit: number) =>
        sql`
          SELECT t.id FROM transactions t
          WHERE ${atNonce(lane, generation, from)} AND t.final_at IS NOT NULL ORDER BY t.nonce LIMIT ${limit}`.pipe(
          Effect.flatMap(idsOf),
          query("LaneContentsRepo.finalFrom")
        )

      const openBetween = (lane: LaneId, from: number, to: number) =>
        sql`
          SELECT t.id FROM transactions t
          WHERE t.lane_id = ${lane}::bigint AND ${hasNonce} AND t.nonce BETWEEN ${from}::bigint AND ${to}::bigint`.pipe(
          Effect.flatMap(idsOf),
          query("LaneContentsRepo.openBetween")
        )

      return LaneContentsRepo.of({ states, open, overdue, noncesFrom, finalFrom, openBetween })
    })
  )
}
