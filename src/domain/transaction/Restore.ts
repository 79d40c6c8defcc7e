// A ledger that was put back from a copy may have forgotten attempts and places. What could have been executed since is
// marked, and is not signed again before an operator decides.
import { Result } from "effect"
import { TransactionConflict } from "./Cancellation.ts"
import { cause } from "./Cause.ts"
import { Command, finish } from "./Command.ts"
import type { Family } from "./Family.ts"
import type { Answer, Rules } from "./Rules.ts"
import { isFinal } from "./Transaction.ts"
import type { Transaction } from "./Transaction.ts"

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

/** It waits for a decision of an operator. */
export const isUnproven = ({ state, restored, cause: why }: Transaction): boolean =>
  (restored && state === "pending") || why?.code === "nonce_taken_unproven"

const refused = (error: string) => Result.fail(new TransactionConflict({ error }))

/**
 * `usedBelow`: every provider that answers counts this many sequences of the account as used and final. Above it, the bytes of
 * a transaction can still be mined: whatever an operator says about them may turn out to be wrong.
 */
const isOpen = ({ place }: Transaction, usedBelow: bigint): boolean => (place?.sequence ?? -1n) >= usedBelow

/**
 * `send`: it was not executed, so it gets another place. `give_up`: it is not sent any more. With a place, what is mined there
 * decides how it ends.
 */
export const resolve = <F extends Family>(
  transaction: Transaction<F>,
  answer: Answer,
  usedBelow: bigint
): Result.Result<Command<never>, TransactionConflict> => {
  if (isFinal(transaction) || !isUnproven(transaction)) return refused("does not wait for a decision of an operator")
  const { place, requeues, restored } = transaction
  if (isOpen(transaction, usedBelow)) {
    return refused(`its nonce ${place?.sequence} is open: not every provider has it in a final block; try again later`)
  }
  if (answer === "send") {
    return Result.succeed(Command.Requeue({ restored: false, requeues, cause: cause("queued") }))
  }
  if (place === undefined) {
    const code = restored ? "restored_unproven" : "nonce_taken_unproven"
    return Result.succeed(finish({ state: "failed", cause: cause(code) }))
  }
  return Result.succeed(
    Command.Intend({
      intent: "clear",
      clearCode: "nonce_taken_unproven",
      cause: cause("nonce_taken_unproven", { answer: "give_up" })
    })
  )
}

/**
 * A test network began anew: bytes of the old generation stay valid there, so what has or had any is given up. Undefined:
 * nothing of it was ever signed, and it stays pending.
 */
export const onNewGeneration = <F extends Family>(transaction: Transaction<F>): Command<F> | undefined =>
  isFinal(transaction) || transaction.attempts.length === 0
    ? undefined
    : finish({ state: "failed", cause: cause("chain_changed") })
