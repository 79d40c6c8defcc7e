// Which open transaction of its lane another one waits for.
import { Effect, Option, Schema } from "effect"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import type { LaneId } from "../StoredLane.ts"
import * as TransactionsRepo from "../write/TransactionsRepo.ts"

const readIds = Rows.all(Schema.Struct({ id: TransactionId }))

export const make = Effect.gen(function* () {
  const sql = yield* client
  const transactions = yield* TransactionsRepo.make

  const firstOf = Effect.fnUntraced(function* (rows: ReadonlyArray<unknown>) {
    const ids = yield* readIds(rows)
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

  return { firstInFlight, firstPendingBelow }
})
