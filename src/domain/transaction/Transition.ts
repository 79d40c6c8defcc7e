// What a command makes of a transaction in the ledger. Pure: the repository writes the result, guarded by the version.
import type { Attempt } from "./Attempt.ts"
import type { Cancellation } from "./Cancellation.ts"
import { cause } from "./Cause.ts"
import type { Cause } from "./Cause.ts"
import { finish } from "./Command.ts"
import type { Command, Finish } from "./Command.ts"
import type { Family } from "./Family.ts"
import type { Moment } from "./Moment.ts"
import type { Heard } from "./Rules.ts"
import type { Transaction } from "./Transaction.ts"

/** A code keeps its moment while only its figures change. */
const withCause = <F extends Family>(transaction: Transaction<F>, cause: Cause, now: Moment): Transaction<F> => ({
  ...transaction,
  cause,
  causeSince: transaction.cause?.code === cause.code ? transaction.causeSince : now
})

const withoutMined = <F extends Family>(transaction: Transaction<F>): Transaction<F> => {
  const { mined: _, ...others } = transaction
  return others
}

const withoutPlace = <F extends Family>(transaction: Transaction<F>): Transaction<F> => {
  const { mined: _, place: _place, ...others } = transaction
  return others
}

/** What was to happen at its place is done. */
const asYielded = <F extends Family>(transaction: Transaction<F>, yields: number): Transaction<F> => {
  const { clearCode: _, clearPrice: _price, ...others } = transaction
  const { mined, paidBefore = 0n } = transaction
  return { ...others, intent: "execute", yields, paidBefore: paidBefore + (mined?.receipt.paid ?? 0n) }
}

/** How a transaction ends if a no-op, or another transaction, used its place, or if it never gets one. */
export const endOf = ({
  intent,
  clearCode = "gap_filled"
}: Pick<Transaction, "intent" | "clearCode">): Finish<never> => {
  if (intent === "cancel") return finish({ state: "canceled", cause: cause("canceled") })
  if (intent === "expire") return finish({ state: "expired", cause: cause("deadline_passed") })
  return finish({ state: "failed", cause: { code: clearCode, figures: {} } })
}

/** Commands that do not change the transaction leave it as it is. A signature is applied by `withAttempt`. */
export const apply = <F extends Family>(
  transaction: Transaction<F>,
  command: Command<F>,
  now: Moment
): Transaction<F> => {
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
    case "Price":
      return { ...transaction, clearPrice: command.clearPrice }
    case "Release":
      return withCause({ ...transaction, restored: false }, command.cause, now)
    case "Requeue": {
      const { restored, requeues, yields, cause } = command
      const wanted = yields === undefined ? transaction : asYielded(transaction, yields)
      return withCause({ ...withoutPlace(wanted), state: "pending", restored, requeues }, cause, now)
    }
    case "Finish": {
      const { state, cause, mined, losesPlace, frees, confirmedBy } = command
      const isGivenUp = losesPlace === true || (frees !== undefined && mined === undefined)
      const ended = isGivenUp ? withoutPlace(transaction) : transaction
      const ending = {
        ...ended,
        state,
        ...(mined === undefined ? {} : { mined }),
        ...(confirmedBy === undefined ? {} : { confirmedBy })
      }
      return withCause(ending, cause, now)
    }
    default:
      return transaction
  }
}

/** After a caller has canceled it. */
export const withCancellation = <F extends Family>(
  transaction: Transaction<F>,
  cancellation: Cancellation,
  now: Moment
): Transaction<F> => {
  switch (cancellation._tag) {
    case "finish":
      return withCause({ ...transaction, state: "canceled" }, cause("canceled"), now)
    case "intend":
      return withCause({ ...transaction, intent: cancellation.intent }, cancellation.cause, now)
    case "unchanged":
      return transaction
  }
}

/** After a signature was committed with its place. */
export const withAttempt = <F extends Family>(
  transaction: Transaction<F>,
  attempt: Attempt<F>,
  cause: Cause,
  now: Moment
): Transaction<F> => {
  const { place, generation } = attempt
  const state = transaction.state === "pending" ? "signed" : transaction.state
  const attempts = [...transaction.attempts, attempt]
  return withCause({ ...transaction, state, place, generation, attempts }, cause, now)
}

/** After the answers to a broadcast were recorded. Only from `signed` does an acceptance change the state. */
export const withSent = <F extends Family>(
  transaction: Transaction<F>,
  { attempt, isAccepted }: Pick<Heard<F>, "attempt" | "isAccepted">
): Transaction<F> => {
  const attempts = transaction.attempts.map((other) => (other.ordinal === attempt.ordinal ? attempt : other))
  if (!isAccepted || transaction.state !== "signed") return { ...transaction, attempts }
  const submitted: Transaction<F> = { ...transaction, attempts, state: "submitted" }
  return transaction.cause?.code === "sending"
    ? withCause(submitted, cause("in_pool", { sends: attempt.sends }), attempt.lastSentAt ?? attempt.signedAt)
    : submitted
}
