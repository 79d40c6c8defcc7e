// Decides which transactions a caller with a fee limit may replace. The fees of a replacement count for the key that sent the
// transaction. Without this check, the caller could offer any price for a transaction of another key.
import { Effect } from "effect"
import type { Caller } from "../../domain/access/Caller.ts"
import { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"

const notCounted = new TransactionLimitExceeded({
  error:
    "fees: the API key has a max_fee_per_day, so it can only replace transactions that it or a key that it created has sent"
})

export const make = Effect.gen(function* () {
  const keys = yield* ApiKeys

  /** Fails unless every fee limit of the caller on networks of the type counts the fees of the transaction. */
  return Effect.fnUntraced(function* (
    { id, transactionLimits }: Caller,
    type: string,
    { apiKeyId, fee }: StoredTransaction
  ) {
    const limits = transactionLimits === undefined ? [] : yield* keys.feeLimits(id, type)
    if (limits.length === 0) return
    const counting = fee === undefined || apiKeyId === undefined ? [] : yield* keys.feeLimits(apiKeyId, type)
    const isCounted = limits.every(({ keyId }) => counting.some((limit) => limit.keyId === keyId))
    if (!isCounted) return yield* notCounted
  })
})
