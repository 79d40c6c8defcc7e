// The table `attempts`.
import { Context, Effect, Layer, Schema } from "effect"
import type { Attempt, Receipt } from "../../domain/transaction/Attempt.ts"
import { TransactionId } from "../../domain/transaction/EvmTransaction.ts"
import * as UnnestRows from "../../sql/batch/UnnestRows.ts"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"
import * as AttemptRow from "./AttemptRow.ts"
import type { Bytes } from "./StoredTransaction.ts"

export interface Answered {
  readonly id: TransactionId
  readonly attempt: Attempt
  /** Absent: none is recorded. */
  readonly receipt: Receipt | undefined
}

export interface AttemptKey {
  readonly id: TransactionId
  readonly ordinal: number
}

const readBytes = Rows.all(Schema.Struct({ id: TransactionId, ordinal: Schema.Int, raw: Schema.Uint8Array }))

export class AttemptsRepo extends Context.Service<
  AttemptsRepo,
  {
    insert(attempts: ReadonlyArray<AttemptRow.Signed>): Effect.Effect<void>
    /** What a broadcast and a receipt change. */
    update(attempts: ReadonlyArray<Answered>): Effect.Effect<void>
    bytes(attempts: ReadonlyArray<AttemptKey>): Effect.Effect<ReadonlyArray<Bytes>>
  }
>()("effect-relayer/server/ledger/AttemptsRepo") {
  static readonly layer = Layer.effect(
    AttemptsRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const moment = (column: string) => AttemptRow.moment(sql, column)

      const insert = (attempts: ReadonlyArray<AttemptRow.Signed>) =>
        attempts.length === 0
          ? Effect.void
          : sql`
              INSERT INTO attempts (
                transaction_id, ordinal, kind, generation, request_version, hash, raw, nonce, fees, gas_limit, data_fee, epoch,
                signed_at
              )
              SELECT transaction_id::uuid, ordinal::integer, kind, generation::integer, request_version::integer, hash,
                raw::bytea, nonce::bigint, fees::json, gas_limit::bigint, data_fee::numeric, epoch::bigint,
                ${moment("signed_at")}
              FROM ${UnnestRows.make(sql, attempts.map(AttemptRow.signed))} ORDER BY n`.pipe(
              Effect.asVoid,
              query("AttemptsRepo.insert")
            )

      const update = (attempts: ReadonlyArray<Answered>) =>
        attempts.length === 0
          ? Effect.void
          : sql`
              UPDATE attempts a SET sends = given.sends::integer, first_sent_at = ${moment("first_sent_at")},
                first_sent_block = given.first_sent_block::bigint, last_sent_at = ${moment("last_sent_at")},
                outcome = given.outcome, refusal = given.refusal::json, receipt = given.receipt::json
              FROM ${UnnestRows.make(
                sql,
                attempts.map(({ id, attempt, receipt }) => AttemptRow.answered(id, attempt, receipt))
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

      return AttemptsRepo.of({ insert, update, bytes })
    })
  )
}
