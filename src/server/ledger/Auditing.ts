// Records what callers did to transactions and to nonces. Call data can be secret: it stays out of the audit log.
import { Effect } from "effect"
import { newestRequest } from "../../domain/transaction/Transaction.ts"
import { Audit } from "../audit/Audit.ts"
import type { EncodedChange } from "../audit/EncodedChange.ts"
import * as Origin from "../responses/Origin.ts"
import type { Account } from "./NewTransaction.ts"
import type { StoredTransaction } from "./StoredTransaction.ts"

type TransactionAction = "transaction.sent" | "transaction.replaced" | "transaction.canceled"
type NonceAction = "nonce.resynced" | "nonce.cleared" | "nonce.generation_begun"

const textOf = ({ id, relayerId, externalId, transaction }: StoredTransaction): string => {
  const { to, value } = newestRequest(transaction)
  const { state: status, nonce, intent, attempts } = transaction
  const hash = attempts.at(-1)?.hash
  return JSON.stringify({
    id,
    relayer_id: relayerId,
    external_id: externalId,
    to,
    value: String(value),
    status,
    nonce,
    hash,
    is_canceled: intent === "cancel" || status === "canceled"
  })
}

/** `before` is absent if the transaction was accepted. */
export const changeOf = (
  action: TransactionAction,
  { before, after }: { readonly before?: StoredTransaction; readonly after: StoredTransaction },
  origin: Origin.Origin
): EncodedChange => ({
  action,
  id: after.id,
  ...(before === undefined ? {} : { before: textOf(before) }),
  after: textOf(after),
  origin
})

/** Records an operator's command. `done` says what it did. */
export const nonces = Effect.map(
  Audit,
  (audit) => (action: NonceAction, account: Account, done: Readonly<Record<string, unknown>>) =>
    Effect.flatMap(Origin.current, (origin) => {
      const { relayerId, chain, address } = account
      const after = JSON.stringify({ relayer_id: relayerId, chain, address, ...done })
      return audit.recordMany([{ action, id: relayerId, after, origin }])
    })
)
