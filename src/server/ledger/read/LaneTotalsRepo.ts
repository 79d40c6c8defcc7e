// What the open transactions of a lane amount to. Their call data, up to 128 kB each, stays in the database.
import { Effect, Schema } from "effect"
import { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import { reservationOf } from "../../../domain/transaction/Totals.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import * as GivenRepo from "../accept/GivenRepo.ts"
import type { LaneId } from "../StoredLane.ts"
import { LedgerRules } from "../LedgerRules.ts"
import * as TransactionRow from "../write/TransactionRow.ts"

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

export const make = Effect.gen(function* () {
  const sql = yield* client
  const networks = yield* LedgerRules
  const readRows = TransactionRow.reader(networks)

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
    sql`SELECT coalesce(${GivenRepo.costOf(sql, height)}, 0)::text AS cost FROM lanes l WHERE l.id = ${lane}::bigint`.pipe(
      Effect.flatMap(readCost),
      Effect.map(({ cost }) => cost),
      query("LaneTotalsRepo.givenCost")
    )

  // A mined transaction reserves nothing.
  const inFlight = (lane: LaneId) =>
    sql`
      SELECT ${TransactionRow.columnsWithoutData(sql)} FROM transactions t JOIN lanes l ON l.id = t.lane_id
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
