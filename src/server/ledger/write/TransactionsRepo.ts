// Writes of the table `transactions`, and its rows by id.
import { Data, Effect, Option, Schema } from "effect"
import type { Statement } from "effect/sql"
import { TransactionConflict } from "../../../domain/transaction/Cancellation.ts"
import { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import { Figures } from "../../../domain/transaction/Cause.ts"
import { feeOf } from "../../../domain/transaction/Totals.ts"
import { isFinal } from "../../../domain/transaction/Transaction.ts"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { client, onConflict, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import { unnestRows } from "../../../sql/Rows.ts"
import * as AttemptsRepo from "./AttemptsRepo.ts"
import { LedgerRules } from "../LedgerRules.ts"
import type { LedgerNetwork } from "../LedgerRules.ts"
import type { NewTransaction } from "../NewTransaction.ts"
import type { LaneId } from "../StoredLane.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"
import * as TransactionRow from "./TransactionRow.ts"

const encodeFigures = Schema.encodeSync(Figures)

const text = (value: number | bigint | undefined): string | null => (value === undefined ? null : String(value))

/** What changes in a row while a transaction is open. `stored` is the transaction after the change, with the version that the row had before it. */
const columnsOf = ({ receipt }: LedgerNetwork, stored: StoredTransaction, now: Moment) => {
  const { id, version, fee, from, transaction } = stored
  const { cause, mined, place, attempts } = transaction
  return {
    id,
    version: String(version),
    generation: String(transaction.generation),
    intent: transaction.intent,
    clear_code: transaction.clearCode ?? null,
    clear_price: text(transaction.clearPrice),
    state: transaction.state,
    code: cause?.code ?? null,
    code_since: String(transaction.causeSince),
    figures: cause === undefined ? null : JSON.stringify(encodeFigures(cause.figures)),
    nonce: text(place?.sequence),
    channel: place === undefined || place.sequence === undefined || place.account === from ? null : place.account,
    guest: place !== undefined && place.sequence === undefined ? place.account : null,
    receipt: mined === undefined || mined.ordinal !== undefined ? null : receipt.text(mined.receipt),
    // Bytes that had an effect are never accepted again. Without an effect, the same request may come again.
    has_effect: String(!isFinal(transaction) || mined !== undefined),
    mined_attempt: text(mined?.ordinal),
    restored: String(transaction.restored),
    requeues: String(transaction.requeues),
    yields: text(transaction.yields),
    paid_before: text(transaction.paidBefore),
    confirmed_by: text(transaction.confirmedBy),
    fee: fee === undefined ? null : String(feeOf(transaction, fee)),
    sent_at: text(attempts.find(({ firstSent }) => firstSent !== undefined)?.firstSent?.at),
    mined_at: mined === undefined ? null : String(now),
    final_at: isFinal(transaction) ? String(now) : null
  }
}

/** Identifies a state of a row. */
export const RowState = Schema.Struct({ id: TransactionId, version: Schema.Int })
export type RowState = typeof RowState.Type

const readStates = Rows.all(RowState)

/** A statement that takes the locks for a write. If it returns no row, nothing is written. */
export type Gate = Statement.Fragment

/** The gate of a write returned no row. */
export class GateClosed extends Data.TaggedError("GateClosed") {}

/** One row without an id if the gate is open and nothing was written. */
const readWritten = Rows.all(Schema.Struct({ id: Schema.NullOr(TransactionId) }))

/** Another request was accepted since the check. */
const sameBytes = "already_accepted: another transaction has the same bytes"
const sameSequence = "sequence_in_use: another open transaction uses the same sequence"

export const make = Effect.gen(function* () {
  const sql = yield* client
  const networks = yield* LedgerRules
  const readRows = TransactionRow.reader(networks)
  const attempts = yield* AttemptsRepo.make
  const moment = (column: string) => AttemptsRepo.momentOf(sql, column)

  // A row of an older generation can have the bytes of one of its new generation: then it gives up its identity.
  const isUnique = sql`(t.identity IS NULL OR t.generation = given.generation::integer OR NOT EXISTS (
    SELECT FROM transactions o WHERE o.generation = given.generation::integer AND o.identity = t.identity
  ))`

  /** In the order of their numbers. Ids that do not exist are left out. */
  const find = (ids: ReadonlyArray<TransactionId>) =>
    ids.length === 0
      ? Effect.succeed([])
      : sql`
          SELECT ${TransactionRow.columns(sql)} FROM transactions t JOIN lanes l ON l.id = t.lane_id
          WHERE t.id = ANY(${ids}::uuid[]) ORDER BY t.number`.pipe(
          Effect.flatMap(readRows),
          query("TransactionsRepo.find")
        )

  /** Locks the row of a relayer's transaction until the transaction ends. */
  const hold = (relayerNumber: number, id: TransactionId) =>
    sql`
      SELECT 1 FROM transactions t WHERE t.id = ${id}::uuid AND t.relayer_number = ${relayerNumber}::bigint
      FOR NO KEY UPDATE`.pipe(
      Effect.flatMap((rows) => find(rows.length === 0 ? [] : [id])),
      Effect.map(([row]) => Option.fromUndefinedOr(row)),
      query("TransactionsRepo.hold")
    )

  /** Locks the rows, in the order of their numbers, until the transaction ends. */
  const lock = (ids: ReadonlyArray<TransactionId>) =>
    sql`
      SELECT t.id, t.version::float8 AS version FROM transactions t WHERE t.id = ANY(${ids}::uuid[])
      ORDER BY t.number FOR NO KEY UPDATE`.pipe(Effect.flatMap(readStates), query("TransactionsRepo.lock"))

  /**
   * Locks the rows in the order of their numbers, and writes what can change, except the request, with their attempts. Each
   * transaction has the version that its row had when it was read. Returns those that were written. Rows with another version stay as
   * they were, and so do rows whose new signature a caller already got by `sign-transaction`. The gate is part of the statement, which
   * saves a round trip, and it is passed before any row is locked.
   */
  const update = (
    changed: ReadonlyArray<StoredTransaction>,
    of: AttemptsRepo.AttemptChanges,
    now: Moment,
    gate: Gate = sql`SELECT 1`
  ) => {
    const written = sql`
      gate AS MATERIALIZED (${gate}),
      given AS (
        SELECT given.* FROM ${unnestRows(
          sql,
          changed.map((stored) => columnsOf(networks.of(stored.chain), stored, now))
        )}
        JOIN transactions t ON t.id = given.id::uuid
        WHERE (SELECT count(*) FROM gate) = 1 AND NOT ${attempts.isGiven(of.signed)} ORDER BY t.number FOR NO KEY UPDATE OF t
      ),
      written AS (
        UPDATE transactions t SET generation = given.generation::integer, intent = given.intent,
          clear_code = given.clear_code, clear_price = given.clear_price::numeric, state = given.state, code = given.code, code_since = ${moment("code_since")},
          figures = given.figures::json, nonce = given.nonce::bigint, guest = given.guest, receipt = given.receipt::json,
          channel_id = CASE WHEN given.channel IS NOT NULL THEN (
            SELECT c.id FROM lanes c WHERE c.parent_id = t.lane_id AND c.address = given.channel
          ) END,
          identity = CASE WHEN given.has_effect::boolean AND ${isUnique} THEN t.identity END,
          mined_attempt = given.mined_attempt::integer, restored = given.restored::boolean,
          requeues = given.requeues::smallint, yields = given.yields::smallint, paid_before = given.paid_before::numeric,
          confirmed_by = given.confirmed_by::smallint, fee = given.fee::numeric, sent_at = ${moment("sent_at")},
          mined_at = CASE WHEN given.mined_at IS NOT NULL THEN coalesce(t.mined_at, ${moment("mined_at")}) END,
          final_at = coalesce(t.final_at, ${moment("final_at")}), version = t.version + 1
        FROM given WHERE t.id = given.id::uuid AND t.version = given.version::bigint
        RETURNING t.id
      )`
    const parts = [written, ...attempts.writing(of, "written")]
    return sql`WITH ${sql.join(", ", false)(parts)} SELECT written.id FROM gate LEFT JOIN written ON true`.pipe(
      Effect.flatMap(readWritten),
      Effect.filterOrFail(
        (rows) => rows.length > 0,
        () => new GateClosed()
      ),
      Effect.map((rows) => new Set(rows.flatMap(({ id }) => id ?? []))),
      onConflict("attempts_signature_key", () => new AttemptsRepo.SignatureTaken()),
      query("TransactionsRepo.update")
    )
  }

  /** Keeps the newest request as a former version. The row is locked. */
  const addRequest = (
    { id, chain }: StoredTransaction,
    request: unknown,
    validUntil: Moment,
    { identity, exclusive }: Pick<NewTransaction, "identity" | "exclusive">
  ) =>
    sql`
      WITH kept AS (
        INSERT INTO transaction_requests (transaction_id, version, request)
        SELECT t.id, t.request_version, t.request FROM transactions t WHERE t.id = ${id}::uuid
      )
      UPDATE transactions t SET request = ${networks.of(chain).request.text(request)}::text::json, request_version = t.request_version + 1,
        valid_until = to_timestamp(${validUntil}::float8 / 1000), identity = ${identity ?? null}::text,
        exclusive = ${exclusive ?? null}::text
      WHERE t.id = ${id}::uuid`.pipe(
      onConflict("transactions_identity_key", () => new TransactionConflict({ error: sameBytes })),
      onConflict("transactions_exclusive_key", () => new TransactionConflict({ error: sameSequence })),
      Effect.asVoid,
      query("TransactionsRepo.addRequest")
    )

  /** What stays pending keeps its identity in the new generation, so that the same bytes are not accepted again. */
  const moveIdentities = (lane: LaneId, generation: number) =>
    sql`
      UPDATE transactions SET generation = ${generation}
      WHERE lane_id = ${lane}::bigint AND state = 'pending' AND identity IS NOT NULL`.pipe(
      Effect.asVoid,
      query("TransactionsRepo.moveIdentities")
    )

  return { find, hold, lock, update, addRequest, moveIdentities }
})
