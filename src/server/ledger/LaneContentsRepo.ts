// What the table `transactions` has of one lane: its open transactions, what they amount to, and which one another waits for. Rows are
// named by their version, so that those that did not change are not read again.
import { Effect, Option, Schema } from "effect"
import { advancingCodes } from "../../networks/core/Cause.ts"
import { reservationOf } from "../../networks/core/Queue.ts"
import { maxSignaturesPerCommit, TransactionId } from "../../networks/core/TransactionValues.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import { client, query } from "../../sql/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import { LaneId, LedgerRules } from "./LedgerEntries.ts"
import { givenCostOf } from "./SignaturesRepo.ts"
import * as TransactionsRepo from "./TransactionsRepo.ts"
import { RowState, transactionColumnsWithoutData, transactionReader } from "./TransactionsRepo.ts"

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

const decodeStates = Rows.all(Rows.withoutNulls(StateRow))
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

  /** A query for what each lane contains. */
  const statesOf = (lanes: ReadonlyArray<LaneId>, now: Moment) => {
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
      WHERE ${isOfThese} AND ${hasPlace}`
  }

  /** Its rows by nonce, in the order of the lanes. */
  const readStates = (lanes: ReadonlyArray<LaneId>, rows: ReadonlyArray<unknown>) =>
    Effect.map(decodeStates(rows), (found) => {
      const byLane = Map.groupBy(found, ({ lane }) => lane)
      return lanes.map((lane) => openIn(byLane.get(lane) ?? []))
    })

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
      WHERE ${atSequence(lane, generation, from)} AND t.final_at IS NOT NULL
        AND (t.mined_attempt IS NOT NULL OR t.origin = 'authorization')`.pipe(
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

  return { statesOf, readStates, open, overdue, sequencesFrom, minedFrom, finalFrom, openBetween }
})

// What the open transactions of a lane amount to. Their call data, up to 128 kB each, stays in the database.

const Counts = Rows.withoutNulls(
  Schema.Struct({
    pending: Schema.Int,
    in_flight: Schema.Int,
    oldest_nonce: Schema.optionalKey(Schema.BigIntFromString)
  })
)

const readCounts = Rows.one(Counts)
const readPlaces = Rows.all(Schema.Struct({ address: Schema.String, id: TransactionId }))
const readCost = Rows.one(Schema.Struct({ cost: Schema.BigIntFromString }))
const readAhead = Rows.one(Schema.Struct({ ahead: Schema.Int }))

export const makeLaneTotals = Effect.gen(function* () {
  const sql = yield* client
  const networks = yield* LedgerRules
  const readRows = transactionReader(networks)

  const counts = (lane: LaneId) =>
    sql`
      SELECT
        (SELECT count(*) FROM transactions t WHERE t.lane_id = ${lane}::bigint AND t.state = 'pending')::float8 AS pending,
        count(*)::float8 AS in_flight, min(t.nonce)::text AS oldest_nonce
      FROM transactions t
      WHERE t.lane_id = ${lane}::bigint AND t.state IN ('signed', 'submitted', 'mined')`.pipe(
      Effect.flatMap(readCounts),
      Effect.map(({ pending, in_flight, oldest_nonce }) => ({
        pending,
        inFlight: in_flight,
        ...(oldest_nonce === undefined ? {} : { oldestSequence: oldest_nonce })
      })),
      query("LaneTotalsRepo.counts")
    )

  /** Open transactions by the account where they have a place, without those of the lane's first account. */
  const channelPlaces = (lane: LaneId) =>
    sql`
      SELECT c.address, t.id FROM transactions t JOIN lanes c ON c.id = t.channel_id
      WHERE t.lane_id = ${lane}::bigint AND t.state IN ('signed', 'submitted', 'mined')`.pipe(
      Effect.flatMap(readPlaces),
      Effect.map((rows): ReadonlyMap<string, TransactionId> => new Map(rows.map(({ address, id }) => [address, id]))),
      query("LaneTotalsRepo.channelPlaces")
    )

  const givenCost = (lane: LaneId, height: number | undefined) =>
    sql`SELECT coalesce(${givenCostOf(sql, height)}, 0)::text AS cost FROM lanes l WHERE l.id = ${lane}::bigint`.pipe(
      Effect.flatMap(readCost),
      Effect.map(({ cost }) => cost),
      query("LaneTotalsRepo.givenCost")
    )

  // A mined transaction reserves nothing.
  const inFlight = (lane: LaneId) =>
    sql`
      SELECT ${transactionColumnsWithoutData(sql)} FROM transactions t JOIN lanes l ON l.id = t.lane_id
      WHERE t.lane_id = ${lane}::bigint AND t.state IN ('signed', 'submitted')`.pipe(
      Effect.flatMap(readRows),
      Effect.map((rows) => {
        const [first] = rows
        if (first === undefined) return 0n
        const { rules } = networks.of(first.chain)
        return rows.reduce((sum, { transaction }) => sum + reservationOf(rules, transaction), 0n)
      }),
      query("LaneTotalsRepo.reserved")
    )

  /** What the transactions in flight, and signatures that were given, can cost, in the smallest unit of the chain. */
  const reserved = (lane: LaneId, height: number | undefined) =>
    Effect.zipWith(inFlight(lane), givenCost(lane, height), (one, other) => one + other)

  /** The number of pending transactions that are ahead of this one in the lane. */
  // The order of `byPlace`.
  const ahead = (lane: LaneId, id: TransactionId) =>
    sql`
      SELECT count(*)::float8 AS ahead FROM transactions own JOIN transactions t ON t.lane_id = own.lane_id
      WHERE own.id = ${id}::uuid AND own.lane_id = ${lane}::bigint AND t.state = 'pending' AND NOT t.restored
        AND (-t.priority, greatest(t.created_at, t.not_before), t.number)
          < (-own.priority, greatest(own.created_at, own.not_before), own.number)`.pipe(
      Effect.flatMap(readAhead),
      Effect.map((row) => row.ahead),
      query("LaneTotalsRepo.ahead")
    )

  return { counts, channelPlaces, reserved, ahead }
})

// Which open transaction of its lane another one waits for.

const readFirstId = Rows.all(Schema.Struct({ id: TransactionId }))

export const makePredecessors = Effect.gen(function* () {
  const sql = yield* client
  const transactions = yield* TransactionsRepo.make

  const firstOf = Effect.fnUntraced(function* (rows: ReadonlyArray<unknown>) {
    const ids = yield* readFirstId(rows)
    return Option.fromUndefinedOr((yield* transactions.find(ids.map(({ id }) => id)))[0])
  })

  /** The transaction in flight with the lowest sequence. Those that no block contains come first. */
  const firstInFlight = (lane: LaneId) =>
    sql`
      SELECT t.id FROM transactions t WHERE t.lane_id = ${lane}::bigint AND t.state IN ('signed', 'submitted', 'mined')
      ORDER BY t.state = 'mined', t.nonce LIMIT 1`.pipe(
      Effect.flatMap(firstOf),
      query("PredecessorsRepo.firstInFlight")
    )

  /** The first pending transaction that can get a sequence below the one that `id` requires. The rule is that of `Queue.ts`. */
  const firstPendingBelow = (lane: LaneId, id: TransactionId, now: Moment) =>
    sql`
      SELECT t.id FROM transactions own JOIN transactions t ON t.lane_id = own.lane_id
      WHERE own.id = ${id}::uuid AND own.lane_id = ${lane}::bigint AND t.id <> own.id AND t.state = 'pending' AND NOT t.restored
        AND greatest(t.created_at, t.not_before) <= to_timestamp(${now}::float8 / 1000)
        AND coalesce(t.required_nonce, -1) < own.required_nonce
      ORDER BY -t.priority, greatest(t.created_at, t.not_before), t.number LIMIT 1`.pipe(
      Effect.flatMap(firstOf),
      query("PredecessorsRepo.firstPendingBelow")
    )

  /** The pending transaction whose turn is first, if it is before that of `id`. */
  // The order of `byPlace`, as in `ahead`.
  const firstAhead = (lane: LaneId, id: TransactionId) =>
    sql`
      SELECT t.id FROM transactions own JOIN transactions t ON t.lane_id = own.lane_id
      WHERE own.id = ${id}::uuid AND own.lane_id = ${lane}::bigint AND t.state = 'pending' AND NOT t.restored
        AND (-t.priority, greatest(t.created_at, t.not_before), t.number)
          < (-own.priority, greatest(own.created_at, own.not_before), own.number)
      ORDER BY -t.priority, greatest(t.created_at, t.not_before), t.number LIMIT 1`.pipe(
      Effect.flatMap(firstOf),
      query("PredecessorsRepo.firstAhead")
    )

  /** The open transaction of the relayer that was accepted first, among those that wait for something that is missing. */
  const firstWaiting = (relayerNumber: number) =>
    sql`
      SELECT t.id FROM transactions t
      WHERE t.relayer_number = ${relayerNumber}::bigint AND t.state BETWEEN 'mined' AND 'submitted'
        AND t.code <> ALL(${advancingCodes}::text[])
      ORDER BY t.number LIMIT 1`.pipe(Effect.flatMap(firstOf), query("PredecessorsRepo.firstWaiting"))

  return { firstInFlight, firstPendingBelow, firstAhead, firstWaiting }
})
