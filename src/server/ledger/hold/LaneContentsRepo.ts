// Reads the transactions of one lane. Rows are named by their version, so that those that did not change are not read again.
import { Effect, Schema } from "effect"
import { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { maxSignaturesPerCommit } from "../../../domain/transaction/Numbers.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import { LaneId } from "../StoredLane.ts"
import { RowState } from "../write/TransactionsRepo.ts"

/**
 * Pending transactions of each relayer and kind that are read at once. Kinds: those that an operator has to decide, those with
 * a required nonce, those whose `not_before` is in the future, and all others. A kind that waits hides no other one.
 */
export const pendingLimit = 2 * maxSignaturesPerCommit

/** Pending transactions that one statement ends because of their deadline. */
export const overdueLimit = 500

const optional = Schema.optionalKey

const StateRow = Schema.Struct({
  ...RowState.fields,
  lane: LaneId,
  pending: optional(Schema.Int),
  valid_until: optional(Schema.Int),
  not_before: optional(Schema.Int)
})
type StateRow = typeof StateRow.Type

const readStates = Rows.all(Rows.withoutNulls(StateRow))
const readSequences = Rows.all(Schema.Struct({ sequence: Schema.BigIntFromString }))
const readIds = Rows.all(Schema.Struct({ id: TransactionId }))

export interface OpenStates {
  /** Transactions with a nonce that are not final, by nonce; then those that are pending. */
  readonly states: ReadonlyArray<RowState>
  /** The number of all pending transactions. */
  readonly pendingCount: number
  /** The earliest deadline or beginning of a pending transaction. */
  readonly nextMoment: Moment | undefined
}

/** `rows`: of one lane. */
const openIn = (rows: ReadonlyArray<StateRow>): OpenStates => {
  const first = rows.find(({ pending }) => pending !== undefined)
  const moments = [first?.valid_until, first?.not_before].filter((moment) => moment !== undefined)
  return {
    states: rows,
    pendingCount: first?.pending ?? 0,
    nextMoment: moments.length === 0 ? undefined : Math.min(...moments)
  }
}

export const make = Effect.gen(function* () {
  const sql = yield* client
  const hasPlace = sql`t.state IN ('signed', 'submitted', 'mined')`
  const idsOf = (rows: ReadonlyArray<unknown>) => Effect.map(readIds(rows), (found) => found.map(({ id }) => id))

  /** Reads what each lane contains, in the order of the lanes. */
  const states = (lanes: ReadonlyArray<LaneId>, now: Moment) => {
    const isOfThese = sql`t.lane_id = ANY(${lanes.map(String)}::bigint[])`
    return sql`
      SELECT id, lane::float8 AS lane, version::float8 AS version, pending::float8 AS pending, nonce,
        (extract(epoch FROM valid_until) * 1000)::bigint::float8 AS valid_until,
        (extract(epoch FROM not_before) * 1000)::bigint::float8 AS not_before
      FROM (
        SELECT t.id, t.lane_id AS lane, t.version, count(*) OVER of_lane AS pending, t.nonce,
          min(t.valid_until) FILTER (WHERE NOT t.restored) OVER of_lane AS valid_until,
          min(t.not_before) FILTER (WHERE later) OVER of_lane AS not_before,
          row_number() OVER (
            PARTITION BY t.lane_id, t.relayer_number, t.restored, t.required_nonce IS NULL, later
            ORDER BY t.required_nonce, t.priority DESC, greatest(t.created_at, t.not_before), t.number
          ) AS place
        FROM transactions t
        CROSS JOIN LATERAL (SELECT coalesce(t.not_before > to_timestamp(${now}::float8 / 1000), false)) later (later)
        WHERE ${isOfThese} AND t.state = 'pending'
        WINDOW of_lane AS (PARTITION BY t.lane_id)
      ) ranked WHERE place <= ${pendingLimit}
      UNION ALL
      SELECT t.id, t.lane_id::float8, t.version::float8, NULL, t.nonce, NULL, NULL FROM transactions t
      WHERE ${isOfThese} AND ${hasPlace}
      ORDER BY nonce`.pipe(
      Effect.flatMap(readStates),
      Effect.map((rows) => {
        const byLane = Map.groupBy(rows, ({ lane }) => lane)
        return lanes.map((lane) => openIn(byLane.get(lane) ?? []))
      }),
      query("LaneContentsRepo.states")
    )
  }

  /** Every transaction that is not final. */
  const open = (lane: LaneId) =>
    sql`
      SELECT t.id FROM transactions t WHERE t.lane_id = ${lane}::bigint AND t.state = 'pending'
      UNION ALL SELECT t.id FROM transactions t WHERE t.lane_id = ${lane}::bigint AND ${hasPlace}`.pipe(
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

  const atSequence = (lane: LaneId, generation: number, from: bigint) => sql`
    coalesce(t.channel_id, t.lane_id) = ${lane}::bigint AND t.generation = ${generation}
    AND t.nonce >= ${String(from)}::bigint`

  const sequencesFrom = (lane: LaneId, generation: number, from: bigint) =>
    sql`
      SELECT t.nonce::text AS sequence FROM transactions t WHERE ${atSequence(lane, generation, from)} ORDER BY t.nonce`.pipe(
      Effect.flatMap(readSequences),
      Effect.map((rows) => rows.map(({ sequence }) => sequence)),
      query("LaneContentsRepo.sequencesFrom")
    )

  const minedFrom = (lane: LaneId, generation: number, from: bigint) =>
    sql`
      SELECT t.nonce::text AS sequence FROM transactions t
      WHERE ${atSequence(lane, generation, from)} AND t.final_at IS NOT NULL AND t.mined_attempt IS NOT NULL`.pipe(
      Effect.flatMap(readSequences),
      Effect.map((rows) => rows.map(({ sequence }) => sequence)),
      query("LaneContentsRepo.minedFrom")
    )

  const finalFrom = (lane: LaneId, generation: number, from: bigint, limit: number) =>
    sql`
      SELECT t.id FROM transactions t
      WHERE ${atSequence(lane, generation, from)} AND t.final_at IS NOT NULL ORDER BY t.nonce LIMIT ${limit}`.pipe(
      Effect.flatMap(idsOf),
      query("LaneContentsRepo.finalFrom")
    )

  const openBetween = (lane: LaneId, from: bigint, to: bigint) =>
    sql`
      SELECT t.id FROM transactions t
      WHERE t.lane_id = ${lane}::bigint AND ${hasPlace} AND t.nonce BETWEEN ${String(from)}::bigint AND ${String(to)}::bigint`.pipe(
      Effect.flatMap(idsOf),
      query("LaneContentsRepo.openBetween")
    )

  return { states, open, overdue, sequencesFrom, minedFrom, finalFrom, openBetween }
})
