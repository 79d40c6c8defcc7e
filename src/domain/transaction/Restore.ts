// A ledger that was put back from a copy may have forgotten attempts and places. What could have been executed since is
// marked, and is not signed again before an operator decides.
import { Result } from "effect"
import { TransactionConflict } from "./Cancellation.ts"
import { cause } from "./Cause.ts"
import { Command, finish } from "./Command.ts"
import type { Family } from "./Family.ts"
import type { Rules } from "./Rules.ts"
import { isFinal } from "./Transaction.ts"
import type { Transaction } from "./Transaction.ts"

/** What an operator can say about a transaction whose fate cannot be proven. */
export type Answer = "send" | "give_up"

/** Every open request, after the mark of the database has changed. */
export const isMarked = (transaction: Transaction): boolean =>
  transaction.origin === "request" && !isFinal(transaction) && !transaction.restored

/** The open requests that a foreign transaction of the account could be. This comes before a requeue. */
export const suspects = <F extends Family>(
  rules: Pick<Rules<F>, "couldBe">,
  transactions: ReadonlyArray<Transaction<F>>,
  foreign: F["foreign"]
): ReadonlyArray<Transaction<F>> =>
  transactions.filter((transaction) => isMarked(transaction) && rules.couldBe(transaction, foreign))

const isUnproven = ({ state, restored, cause: why }: Transaction): boolean =>
  (restored && state === "pending") || why?.code === "nonce_taken_unproven"

/**
 * `send`: it was not executed, so it gets a place as usual. `give_up`: it is not sent any more. Neither keeps its place: a
 * provider may have been wrong about its use, and then the lane fills it.
 */
export const resolve = <F extends Family>(
  transaction: Transaction<F>,
  answer: Answer
): Result.Result<Command<F>, TransactionConflict> => {
  if (isFinal(transaction) || !isUnproven(transaction)) {
    return Result.fail(new TransactionConflict({ error: "does not wait for a decision of an operator" }))
  }
  const code = transaction.restored ? "restored_unproven" : "nonce_taken_unproven"
  if (answer === "give_up") return Result.succeed(finish({ state: "failed", cause: cause(code), losesPlace: true }))
  return Result.succeed(Command.Requeue({ restored: false, requeues: transaction.requeues, cause: cause("queued") }))
}

/**
 * A test network began anew: bytes of the old generation stay valid there, so what has or had any is given up. Undefined:
 * nothing of it was ever signed, and it stays pending.
 */
export const onNewGeneration = <F extends Family>(transaction: Transaction<F>): Command<F> | undefined =>
  isFinal(transaction) || transaction.attempts.length === 0
    ? undefined
    : finish({ state: "failed", cause: cause("chain_changed") })
