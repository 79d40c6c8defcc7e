// The rows of the table of errors that are about transactions and the accounts that send them.
import * as Request from "../domain/request/Request.ts"
import * as Relayer from "../domain/relayer/Relayer.ts"
import * as AcceptanceErrors from "../domain/transaction/AcceptanceErrors.ts"
import * as Cancellation from "../domain/transaction/Cancellation.ts"
import * as Transaction from "../domain/transaction/TransactionId.ts"
import * as TransactionLimits from "../domain/transaction/TransactionLimits.ts"
import { explained, failure } from "./Failure.ts"

export const TransactionNotFoundError = failure(
  Transaction.TransactionNotFound,
  404,
  "Transaction not found",
  "The relayer has no transaction with this id."
)

export const RelayerPausedError = failure(
  AcceptanceErrors.RelayerPaused,
  403,
  "Relayer paused",
  "The operator has paused the relayer: nothing new is sent or signed."
)
export const RelayerIsChannelError = failure(
  Relayer.RelayerIsChannel,
  409,
  "Relayer has the address of a channel",
  "The account of the signer is a channel of a stellar relayer."
)
export const TransactionLimitExceededError = explained(
  TransactionLimits.TransactionLimitExceeded,
  403,
  "Transaction limit exceeded",
  "The request is beyond the `transaction_limits` of the API key, or the key has none for the network type of the relayer; `error` names the limit or the missing member, such as `transaction_limits.stellar`."
)
export const TransactionConflictError = explained(
  Cancellation.TransactionConflict,
  409,
  "Transaction conflict",
  "The state of the transaction, or another transaction with the same `external_id`, does not allow the request; `error` says why."
)

export const RehearsalTooLargeError = explained(
  Relayer.RehearsalTooLarge,
  413,
  "Rehearsal too large",
  "The days have more transactions than a rehearsal reads; `error` names the largest number of days that fits."
)

export const NotImplementedError = explained(
  Request.NotImplemented,
  501,
  "Not Implemented",
  "The network type of the relayer does not support it."
)
