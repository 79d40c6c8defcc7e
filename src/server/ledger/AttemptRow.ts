// Attempts as the rows of the table `attempts`.
import { Schema } from "effect"
import { Hex } from "effect/encoding"
import type { SqlClient } from "effect/sql"
import type { TransactionId } from "../../domain/transaction/EvmTransaction.ts"
import type { Attempt, Receipt } from "../../domain/transaction/Attempt.ts"
import { FeesJson, ReceiptJson, RefusalJson } from "./RequestJson.ts"

/** The attempt, and the receipt that is recorded for it. */
export const AttemptJson = Schema.Struct({
  ordinal: Schema.Int,
  kind: Schema.Literals(["original", "bump", "replace", "noop"]),
  generation: Schema.Int,
  requestVersion: Schema.Int,
  hash: Schema.String,
  nonce: Schema.Int,
  fees: FeesJson,
  gasLimit: Schema.BigIntFromString,
  rollupFee: Schema.optionalKey(Schema.BigIntFromString),
  signedAt: Schema.Int,
  sends: Schema.Int,
  firstSent: Schema.optionalKey(Schema.Struct({ at: Schema.Int, block: Schema.Int })),
  lastSentAt: Schema.optionalKey(Schema.Int),
  outcome: Schema.Literals(["unknown", "accepted", "refused"]),
  refusal: Schema.optionalKey(RefusalJson),
  receipt: Schema.optionalKey(ReceiptJson)
})

/** All attempts of the transaction `t` as a JSON array, by ordinal. */
export const jsonOf = (sql: SqlClient.SqlClient) => {
  const millis = (column: string) => sql`(extract(epoch FROM a.${sql(column)}) * 1000)::bigint`
  return sql`
    (SELECT json_agg(json_strip_nulls(json_build_object(
      'ordinal', a.ordinal, 'kind', a.kind, 'generation', a.generation, 'requestVersion', a.request_version,
      'hash', a.hash, 'nonce', a.nonce, 'fees', a.fees, 'gasLimit', a.gas_limit::text, 'rollupFee', a.data_fee::text,
      'signedAt', ${millis("signed_at")}, 'sends', a.sends,
      'firstSent', CASE WHEN a.first_sent_at IS NOT NULL
        THEN json_build_object('at', ${millis("first_sent_at")}, 'block', a.first_sent_block) END,
      'lastSentAt', ${millis("last_sent_at")}, 'outcome', a.outcome, 'refusal', a.refusal, 'receipt', a.receipt
    )) ORDER BY a.ordinal)::text FROM attempts a WHERE a.transaction_id = t.id) AS attempts`
}

const encodeFees = Schema.encodeSync(FeesJson)
const encodeRefusal = Schema.encodeSync(RefusalJson)
const encodeReceipt = Schema.encodeSync(ReceiptJson)

const text = (value: number | bigint | undefined): string | null => (value === undefined ? null : String(value))

/** What a broadcast and a receipt change. */
export const answered = (id: TransactionId, attempt: Attempt, receipt: Receipt | undefined) => ({
  transaction_id: id,
  ordinal: String(attempt.ordinal),
  sends: String(attempt.sends),
  first_sent_at: text(attempt.firstSent?.at),
  first_sent_block: text(attempt.firstSent?.block),
  last_sent_at: text(attempt.lastSentAt),
  outcome: attempt.outcome,
  refusal: attempt.refusal === undefined ? null : JSON.stringify(encodeRefusal(attempt.refusal)),
  receipt: receipt === undefined ? null : JSON.stringify(encodeReceipt(receipt))
})

export interface Signed {
  readonly id: TransactionId
  readonly attempt: Attempt
  readonly raw: Uint8Array
  readonly epoch: number
}

export const signed = ({ id, attempt, raw, epoch }: Signed) => ({
  transaction_id: id,
  ordinal: String(attempt.ordinal),
  kind: attempt.kind,
  generation: String(attempt.generation),
  request_version: String(attempt.requestVersion),
  hash: attempt.hash,
  raw: `\\x${Hex.encode(raw)}`,
  nonce: String(attempt.nonce),
  fees: JSON.stringify(encodeFees(attempt.fees)),
  gas_limit: String(attempt.gasLimit),
  data_fee: text(attempt.rollupFee),
  epoch: String(epoch),
  signed_at: text(attempt.signedAt)
})

/** A moment in a statement, from the text of its milliseconds. */
export const moment = (sql: SqlClient.SqlClient, column: string) =>
  sql`to_timestamp(given.${sql(column)}::float8 / 1000)`
