// What an operator's answer makes of a solana transaction that waits for one: after a restore, or because nothing proves what
// became of its bytes.
import { Result } from "effect"
import { cause } from "../Cause.ts"
import { Command, finish, TransactionConflict } from "../Rules.ts"
import type { Answer, Command as CoreCommand } from "../Rules.ts"
import { isFinal } from "../Transaction.ts"
import type { Lane, Transaction } from "../Transaction.ts"
import type { Moment } from "../TransactionValues.ts"
import type { Solana } from "./Solana.ts"
import { answerableAfter } from "./SolanaNumbers.ts"

interface AnswerContext {
  readonly lane: Lane<Solana>
  readonly now: Moment
}

type Answered = Result.Result<CoreCommand<never>, TransactionConflict>

const refused = (error: string): Answered => Result.fail(new TransactionConflict({ error }))

/** With bytes, it keeps its attempts: a proof that they are dead comes before new ones. */
const restored = ({ attempts, state }: Transaction<Solana>, answer: Answer): CoreCommand<never> => {
  if (answer === "send") return Command.Release({ cause: cause(state === "pending" ? "queued" : "in_pool") })
  return attempts.length === 0
    ? finish({ state: "failed", cause: cause("restored_unproven") })
    : Command.Intend({
        intent: "clear",
        clearCode: "restored_unproven",
        cause: cause("restored_unproven", { answer: "give_up" })
      })
}

/** The operator knows what became of the bytes. What the service knows is not enough for new ones. */
const unproven = ({ requeues }: Transaction<Solana>, answer: Answer): CoreCommand<never> =>
  answer === "send"
    ? Command.Requeue({ restored: false, requeues, cause: cause("queued") })
    : finish({ state: "failed", cause: cause("landing_unproven") })

export const resolve = (transaction: Transaction<Solana>, answer: Answer, { lane, now }: AnswerContext): Answered => {
  const { cause: why, causeSince } = transaction
  if (isFinal(transaction)) return refused("does not wait for a decision of an operator")
  if (transaction.restored) {
    const [{ counters }] = lane.accounts
    const { bound, slot } = counters?.restore ?? {}
    if (slot !== undefined) return Result.succeed(restored(transaction, answer))
    const until = bound === undefined ? "an unknown block height" : `block height ${bound}`
    return refused(
      `bytes that the database has forgotten can land until ${until}, and the list of the address was not read yet; try again later`
    )
  }
  if (why?.code !== "landing_unproven") return refused("does not wait for a decision of an operator")
  const { bound = 0 } = why.figures
  const height = lane.accounts[0].chainBlock?.number ?? 0
  // While finality stands still, the bytes are alive: new ones could land beside them.
  if (answer === "send" && height <= bound) {
    return refused(
      `its bytes can land until block height ${bound}, and ${height} is final: only give_up is possible yet`
    )
  }
  const left = (why.figures.until ?? causeSince + answerableAfter) - now
  return left <= 0
    ? Result.succeed(unproven(transaction, answer))
    : refused(`a proof may still be found: an answer is possible in ${Math.ceil(left / 60_000)} minutes`)
}
