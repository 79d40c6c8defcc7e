// Decides which transactions a caller with limits may replace and cancel. A replacement redirects the payment of its sender, and its
// fees count for the key that sent it: a caller could use the rights of another key.
import { Effect } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"

const ofAnotherKey = new TransactionLimitExceeded({
  error:
    "transaction_id: an API key with transaction_limits can only replace and cancel transactions that it or a key that it created has sent"
})

/** Whether a caller that may send from the relayer of the transaction may read the transaction, too: its sender may. */
export const mayRead = (caller: Caller.Caller, { apiKeyId }: Pick<StoredTransaction, "apiKeyId">): boolean =>
  Caller.hasScope(caller, "transactions:read") || apiKeyId === caller.id

export const make = Effect.gen(function* () {
  const keys = yield* ApiKeys

  /** Fails if the caller has limits, and neither it nor a key that descends from it has sent the transaction. */
  return Effect.fnUntraced(function* ({ apiKeyId }: Pick<StoredTransaction, "apiKeyId">) {
    const { id, transactionLimits } = yield* Caller.current
    if (transactionLimits === undefined || apiKeyId === id) return
    if (apiKeyId === undefined || !(yield* keys.descendsFrom(apiKeyId, id))) return yield* ofAnotherKey
  })
})
