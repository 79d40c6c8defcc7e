// The table `attempts`.
import { Effect, Schema } from "effect"
import { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import * as UnnestRows from "../../../sql/batch/UnnestRows.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import { LedgerRules } from "../LedgerRules.ts"
import * as AttemptRow from "./AttemptRow.ts"

export interface AttemptKey {
  readonly id: TransactionId
  readonly ordinal: number
}

const readBytes = Rows.all(Schema.Struct({ id: TransactionId, ordinal: Schema.Int, raw: Schema.Uint8Array }))

export const make = Effect.gen(function* () {
  const sql = yield* client
  const networks = yield* LedgerRules
  const moment = (column: string) => AttemptRow.moment(sql, column)

  const insert = (attempts: ReadonlyArray<AttemptRow.SignedAttempt>) =>
    attempts.length === 0
      ? Effect.void
      : sql`
          INSERT INTO attempts (
            transaction_id, ordinal, kind, generation, request_version, hash, raw, account, nonce, offer, epoch, signed_at
          )
          SELECT transaction_id::uuid, ordinal::integer, kind, generation::integer, request_version::integer, hash,
            raw::bytea, account, nonce::bigint, offer::json, epoch::bigint, ${moment("signed_at")}
          FROM ${UnnestRows.make(
            sql,
            attempts.map((one) => AttemptRow.signed(networks.of(one.chain), one))
          )} ORDER BY n`.pipe(Effect.asVoid, query("AttemptsRepo.insert"))

  /** What a broadcast and a receipt change. */
  const update = (attempts: ReadonlyArray<AttemptRow.Answered>) =>
    attempts.length === 0
      ? Effect.void
      : sql`
          UPDATE attempts a SET sends = given.sends::integer, first_sent_at = ${moment("first_sent_at")},
            first_sent_block = given.first_sent_block::bigint, last_sent_at = ${moment("last_sent_at")},
            outcome = given.outcome, refusal = given.refusal::json, receipt = given.receipt::json
          FROM ${UnnestRows.make(
            sql,
            attempts.map((one) => AttemptRow.answered(networks.of(one.chain), one))
          )}
          WHERE a.transaction_id = given.transaction_id::uuid AND a.ordinal = given.ordinal::integer`.pipe(
          Effect.asVoid,
          query("AttemptsRepo.update")
        )

  const bytes = (attempts: ReadonlyArray<AttemptKey>) => {
    const ids = attempts.map(({ id }) => id)
    const ordinals = attempts.map(({ ordinal }) => String(ordinal))
    return sql`
      SELECT a.transaction_id AS id, a.ordinal, a.raw
      FROM unnest(${ids}::uuid[], ${ordinals}::integer[]) AS given (id, ordinal)
      JOIN attempts a ON a.transaction_id = given.id AND a.ordinal = given.ordinal`.pipe(
      Effect.flatMap(readBytes),
      query("AttemptsRepo.bytes")
    )
  }

  return { insert, update, bytes }
})
