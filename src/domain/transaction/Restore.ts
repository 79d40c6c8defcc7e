// A ledger that was put back from a copy may have forgotten attempts and nonces. What could have been executed since is
// marked, and is not signed again before an operator decides.
import { Result } from "effect"
import { TransactionConflict } from "./Cancellation.ts"
import { cause } from "./Cause.ts"
import { Command } from "./Command.ts"
import { couldBe } from "./Taker.ts"
import type { Effect } from "./Taker.ts"
import { isFinal } from "./Transaction.ts"
import type { Transaction } from "./Transaction.ts"

/** What an operator can say about a transaction whose fate cannot be proven. */
export type Answer = "send" | "give_up"

/** Every open request, after the mark of the database has changed. */
export const isMarked = (transaction: Transaction): boolean =>
  transaction.origin === "request" && !isFinal(transaction) && !transaction.restored

/**
 * The open requests that a transaction of the account which is in no attempt could be. `effect`: undefined if it could not
 * be fetched, and then it could be any of them. This comes before a requeue.
 */
export const suspects = (
  transactions: ReadonlyArray<Transaction>,
  effect: Effect | undefined
): ReadonlyArray<Transaction> =>
  transactions.filter((transaction) => isMarked(transaction) && couldBe(transaction, effect))

const isUnproven = ({ state, restored, cause: why }: Transaction): boolean =>
  (restored && state === "pending") || why?.code === "nonce_taken_unproven"

/**
 * `send`: it was not executed, so it gets a nonce as usual. `give_up`: it is not sent any more. Neither keeps the nonce: a
 * provider may have been wrong about its use, and then the lane fills it.
 */
export const resolve = (transaction: Transaction, answer: Answer): Result.Result<Command, TransactionConflict> => {
  if (isFinal(transaction) || !isUnproven(transaction)) {
    return Result.fail(new TransactionConflict({ error: "does not wait for a decision of an operator" }))
  }
  const code = transaction.restored ? "restored_unproven" : "nonce_taken_unproven"
  if (answer === "give_up")
    return Result.succeed(Command.Finish({ state: "failed", cause: cause(code), losesNonce: true }))
  return Result.succeed(Command.Requeue({ restored: false, requeues: transaction.requeues, cause: cause("queued") }))
}

/**
 * A test network began anew: bytes of the old generation stay valid there, so what has or had any is given up. Undefined:
 * nothing of it was ever signed, and it stays pending.
 */
export const onNewGeneration = (transaction: Transaction): Command | undefined =>
  isFinal(transaction) || transaction.attempts.length === 0
    ? undefined
    : Command.Finish({ state: "failed", cause: cause("chain_changed") })
