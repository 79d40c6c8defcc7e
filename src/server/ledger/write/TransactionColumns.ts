// What changes in a row of the table `transactions` while a transaction is open.
import { Schema } from "effect"
import { Figures } from "../../../domain/transaction/Cause.ts"
import { feeOf } from "../../../domain/transaction/FeeUse.ts"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { isFinal } from "../../../domain/transaction/Transaction.ts"
import type { LedgerNetwork } from "../LedgerRules.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"

const encodeFigures = Schema.encodeSync(Figures)

const text = (value: number | bigint | undefined): string | null => (value === undefined ? null : String(value))

/** `stored` is the transaction after the change, with the version that the row had before it. */
export const changed = ({ receipt }: LedgerNetwork, stored: StoredTransaction, now: Moment) => {
  const { id, version, fee, from, transaction } = stored
  const { cause, mined, place, attempts } = transaction
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
    nonce: text(place?.sequence),
    channel: place === undefined || place.sequence === undefined || place.account === from ? null : place.account,
    guest: place !== undefined && place.sequence === undefined ? place.account : null,
    receipt: mined === undefined || mined.ordinal !== undefined ? null : receipt.text(mined.receipt),
    // Bytes that had an effect are never accepted again. Without an effect, the same request may come again.
    has_effect: String(!isFinal(transaction) || mined !== undefined),
    mined_attempt: text(mined?.ordinal),
    restored: String(transaction.restored),
    requeues: String(transaction.requeues),
    fee: fee === undefined ? null : String(feeOf(transaction, fee)),
    sent_at: text(attempts.find(({ firstSent }) => firstSent !== undefined)?.firstSent?.at),
    mined_at: mined === undefined ? null : String(now),
    final_at: isFinal(transaction) ? String(now) : null
  }
}
