// What changes in a row of the table `transactions` while a transaction is open.
import { Schema } from "effect"
import { Figures } from "../../domain/transaction/Cause.ts"
import { feeOf } from "../../domain/transaction/FeeUse.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { isFinal } from "../../domain/transaction/Transaction.ts"
import type { StoredTransaction } from "./StoredTransaction.ts"

const encodeFigures = Schema.encodeSync(Figures)

const text = (value: number | bigint | undefined): string | null => (value === undefined ? null : String(value))

/** `stored` is the transaction after the change, with the version that the row had before it. */
export const changed = (stored: StoredTransaction, now: Moment) => {
  const { id, version, fee, transaction } = stored
  const { cause, mined, attempts } = transaction
  return {
    id,
    version: String(version),
    generation: String(transaction.generation),
    intent: transaction.intent,
    clear_code: transaction.clearCode ?? null,
    state: transaction.state,
    code: cause?.code ?? null,
    code_since: String(transaction.causeSince),
    figures: cause === undefined ? null : JSON.stringify(encodeFigures(cause.figures)),
    nonce: text(transaction.nonce),
    mined_attempt: text(mined?.ordinal),
    restored: String(transaction.restored),
    requeues: String(transaction.requeues),
    fee: fee === undefined ? null : String(feeOf(transaction, fee)),
    sent_at: text(attempts.find(({ firstSent }) => firstSent !== undefined)?.firstSent?.at),
    mined_at: mined === undefined ? null : String(now),
    final_at: isFinal(transaction) ? String(now) : null
  }
}
