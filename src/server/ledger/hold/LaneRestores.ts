// Transactions of the service that restore the entries of a call before it can be signed. They belong to the relayer of the call.
import { Clock, Effect, Schema } from "effect"
import { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import * as Transaction from "../../../sql/Transaction.ts"
import { commitSignalOf } from "../../lifecycle/Lifecycle.ts"
import { LedgerRules } from "../LedgerRules.ts"

/** A transaction that waits for a restore that has not begun. */
const Waiting = Schema.Struct({ id: TransactionId, relayer_number: Schema.Int })

const readWaiting = Rows.all(Waiting)
const readIds = Rows.all(Schema.Struct({ id: TransactionId }))

export interface Restore {
  readonly id: TransactionId
  /** As the network stores requests. */
  readonly request: unknown
  readonly validUntil: Moment
}

/** The most restores that begin in one round. */
export const maxBegun = 100

export const make = Effect.gen(function* () {
  const sql = yield* client
  const networks = yield* LedgerRules
  const transaction = yield* Transaction.make
  const due = yield* commitSignalOf("lanes")

  /** A failed restore counts as begun: it is not tried again, because its fee is lost. */
  const isBegun = sql`EXISTS (
    SELECT FROM transactions r
    WHERE r.lane_id = t.lane_id AND r.origin = 'restore' AND r.request -> 'restore' ->> 'for' = t.id::text
      AND (r.final_at IS NULL OR r.state = 'failed'))`

  /** The figures contain the fee of the restore only if the request pays for it. */
  const isWaiting = sql`t.state = 'pending' AND t.code = 'needs_restore' AND (t.figures -> 'fee') IS NOT NULL`

  const waitingForRestore = (type: string) =>
    sql`
      SELECT t.id, t.relayer_number::float8 AS relayer_number FROM lanes l JOIN transactions t ON t.lane_id = l.id
      WHERE l.parent_id IS NULL AND starts_with(l.chain, ${`${type}:`}) AND ${isWaiting} AND NOT ${isBegun}
      ORDER BY t.number LIMIT ${maxBegun}`.pipe(Effect.flatMap(readWaiting), query("LaneRestores.waitingForRestore"))

  /** The row lock prevents two processes from beginning the same restore. */
  const lock = (id: TransactionId) =>
    sql`SELECT t.id FROM transactions t WHERE t.id = ${id}::uuid AND ${isWaiting} FOR UPDATE`.pipe(
      Effect.flatMap(readIds),
      query("LaneRestores.lock")
    )

  const insert = (chain: string, of: TransactionId, { id, request, validUntil }: Restore, now: Moment) => {
    const moment = (at: Moment) => sql`to_timestamp(${at}::float8 / 1000)`
    return sql`
      INSERT INTO transactions (
        id, relayer_id, relayer_number, lane_id, generation, origin, request, facts, state, code, code_since, figures,
        priority, valid_until, api_key_id, created_at
      )
      SELECT ${id}::uuid, t.relayer_id, t.relayer_number, t.lane_id, t.generation, 'restore',
        ${networks.of(chain).request.text(request)}::json, '{}', 'pending', 'queued', ${moment(now)}, '{}', 1,
        ${moment(validUntil)}, t.api_key_id, ${moment(now)}
      FROM transactions t WHERE t.id = ${of}::uuid AND NOT ${isBegun}`.pipe(query("LaneRestores.insert"))
  }

  const beginRestore = Effect.fn("LaneLedger.beginRestore")(function* (
    chain: string,
    of: TransactionId,
    restore: Restore
  ) {
    if ((yield* lock(of)).length === 0) return
    yield* insert(chain, of, restore, yield* Clock.currentTimeMillis)
    yield* due.afterCommit
  }, transaction)

  return { waitingForRestore, beginRestore }
})
