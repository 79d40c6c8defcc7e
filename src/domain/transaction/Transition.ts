// What a command makes of a transaction in the ledger. Pure: the repository writes the result, guarded by the version.
import { Struct } from "effect"
import type { Attempt } from "./Attempt.ts"
import type { Cancellation } from "./Cancellation.ts"
import { cause } from "./Cause.ts"
import type { Cause } from "./Cause.ts"
import type { Command } from "./Command.ts"
import type { Moment } from "./Moment.ts"
import type { Sent } from "./Sending.ts"
import type { Transaction } from "./Transaction.ts"

/** A code keeps its moment while only its figures change. */
const withCause = (transaction: Transaction, cause: Cause, now: Moment): Transaction => ({
  ...transaction,
  cause,
  causeSince: transaction.cause?.code === cause.code ? transaction.causeSince : now
})

const withoutMined = (transaction: Transaction): Transaction => Struct.omit(transaction, ["mined"])

const withoutNonce = (transaction: Transaction): Transaction => Struct.omit(transaction, ["mined", "nonce"])

/** Commands that do not change the transaction leave it as it is. A signature is applied by `withAttempt`. */
export const apply = (transaction: Transaction, command: Command, now: Moment): Transaction => {
  switch (command._tag) {
    case "Hold":
      return withCause(transaction, command.cause, now)
    case "Intend": {
      const { intent, clearCode, cause } = command
      const reason = clearCode === undefined ? {} : { clearCode }
      return withCause({ ...transaction, intent, ...reason }, cause, now)
    }
    case "Mine":
      return withCause({ ...transaction, state: command.state, mined: command.mined }, command.cause, now)
    case "Unmine":
      return withCause({ ...withoutMined(transaction), state: "submitted" }, command.cause, now)
    case "Requeue": {
      const { restored, requeues, cause } = command
      return withCause({ ...withoutNonce(transaction), state: "pending", restored, requeues }, cause, now)
    }
    case "Finish": {
      const ended = command.losesNonce === true ? withoutNonce(transaction) : transaction
      return withCause({ ...ended, state: command.state }, command.cause, now)
    }
    default:
      return transaction
  }
}

/** After a caller has canceled it. */
export const withCancellation = (transaction: Transaction, cancellation: Cancellation, now: Moment): Transaction => {
  switch (cancellation._tag) {
    case "finish":
      return apply(transaction, cancellation.command, now)
    case "intend":
      return withCause({ ...transaction, intent: cancellation.intent }, cancellation.cause, now)
    case "unchanged":
      return transaction
  }
}

/** After a signature was committed with its nonce. */
export const withAttempt = (transaction: Transaction, attempt: Attempt, cause: Cause, now: Moment): Transaction => {
  const { nonce, generation } = attempt
  const state = transaction.state === "pending" ? "signed" : transaction.state
  const attempts = [...transaction.attempts, attempt]
  return withCause({ ...transaction, state, nonce, generation, attempts }, cause, now)
}

/** After the answers to a broadcast were recorded. Only from `signed` does an acceptance change the state. */
export const withSent = (transaction: Transaction, { attempt, isAccepted }: Sent): Transaction => {
  const attempts = transaction.attempts.map((other) => (other.ordinal === attempt.ordinal ? attempt : other))
  if (!isAccepted || transaction.state !== "signed") return { ...transaction, attempts }
  const submitted: Transaction = { ...transaction, attempts, state: "submitted" }
  return transaction.cause?.code === "sending"
    ? withCause(submitted, cause("in_pool", { sends: attempt.sends }), attempt.lastSentAt ?? attempt.signedAt)
    : submitted
}
