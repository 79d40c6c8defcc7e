// Waiting for the next block: commands that keep an evm transaction in its state.
import type { Cause } from "../Cause.ts"
import { Command } from "../Rules.ts"
import type { Commands, Scope, Situation } from "../Rules.ts"
import { earliest } from "../TransactionValues.ts"
import type { Moment } from "../TransactionValues.ts"
import type { Evm } from "./Evm.ts"
import { nextBlock } from "./NetworkNumbers.ts"

/** When the next block is there; for a pending transaction not after its own moments. */
export const nextPoll = ({ transaction, terms, now }: Situation<Evm>): Moment => {
  const block = nextBlock(terms.network, now)
  if (transaction.state !== "pending") return block
  return earliest(
    block,
    ...[transaction.validUntil, transaction.notBefore].filter((at) => at === undefined || at > now)
  )
}

export const pollNext = (situation: Situation<Evm>): Command<Evm> => Command.PollAt({ at: nextPoll(situation) })

/** The state stays, with a code, until the next poll. */
export const hold = (situation: Situation<Evm>, why: Cause, scope: Scope = "transaction"): Commands<Evm> => [
  Command.Hold({ cause: why, scope }),
  pollNext(situation)
]
