// One decision: a transaction, its lane, what was seen of the chain, and the time. Rows of a table decide; the first that
// holds wins.
import type { Cause } from "./Cause.ts"
import { cause } from "./Cause.ts"
import { Command } from "./Command.ts"
import type { Commands, Finish, Scope } from "./Command.ts"
import type { LaneSituation } from "./Lane.ts"
import { earliest } from "./Moment.ts"
import type { Moment } from "./Moment.ts"
import { nextBlock } from "./NetworkNumbers.ts"
import type { Transaction } from "./Transaction.ts"
import type { View } from "./View.ts"

export interface Situation<V extends View = View> {
  readonly transaction: Transaction
  readonly lane: LaneSituation
  readonly view: V
  readonly now: Moment
}

/** Undefined: the row does not hold. */
export type Row<V extends View = View> = (situation: Situation<V>) => Commands | undefined

/** The commands of the first row that holds, else those of `otherwise`. */
export const firstOf =
  <V extends View>(rows: ReadonlyArray<Row<V>>, otherwise: (situation: Situation<V>) => Commands) =>
  (situation: Situation<V>): Commands => {
    for (const row of rows) {
      const commands = row(situation)
      if (commands !== undefined) return commands
    }
    return otherwise(situation)
  }

/** When the next block is there; for a pending transaction not after its own moments. */
export const nextPoll = ({ transaction, lane, now }: Situation): Moment => {
  const block = nextBlock(lane.network, now)
  if (transaction.state !== "pending") return block
  return earliest(
    block,
    ...[transaction.validUntil, transaction.notBefore].filter((at) => at === undefined || at > now)
  )
}

export const pollNext = (situation: Situation): Command => Command.PollAt({ at: nextPoll(situation) })

/** The state stays, with a code, until the next poll. */
export const hold = (situation: Situation, why: Cause, scope: Scope = "transaction"): Commands => [
  Command.Hold({ cause: why, scope }),
  pollNext(situation)
]

/** The same until a moment, and no longer than until the deadline. */
export const holdUntil = ({ transaction, now }: Situation, why: Cause, scope: Scope, until: Moment): Commands => [
  Command.Hold({ cause: why, scope }),
  Command.PollAt({ at: transaction.validUntil > now ? earliest(until, transaction.validUntil) : until })
]

/** How a transaction ends if a no-op, or another transaction, used its nonce, or if it never gets one. */
export const endOf = ({ intent, clearCode = "gap_filled" }: Transaction): Finish => {
  if (intent === "cancel") return Command.Finish({ state: "canceled", cause: cause("canceled") })
  if (intent === "expire") return Command.Finish({ state: "expired", cause: cause("deadline_passed") })
  return Command.Finish({ state: "failed", cause: cause(clearCode) })
}
