// Decisions about a receipt that was recorded: of a transaction that is mined, or that was reverted and is not final yet.
import { isNoop } from "./Attempt.ts"
import type { Attempt } from "./Attempt.ts"
import { cause } from "./Cause.ts"
import { Command } from "./Command.ts"
import type { Commands } from "./Command.ts"
import { formerOf } from "./Replacements.ts"
import { candidates } from "./Resend.ts"
import { endOf, hold, pollNext } from "./Situation.ts"
import type { Situation } from "./Situation.ts"
import { standingOf } from "./Standing.ts"
import type { Mined } from "./Transaction.ts"
import { depthOf } from "./View.ts"
import type { Seen } from "./View.ts"

/** The block is gone: the receipt is forgotten, and the bytes are sent again. */
const reorged = (situation: Situation<Seen>, { receipt }: Mined): Commands => {
  const former = formerOf(situation.transaction)
  const unmine = Command.Unmine({ cause: cause("reorged", { block: receipt.blockNumber }) })
  if (former === undefined) return [unmine, pollNext(situation)]
  const ordinals = candidates(former.attempts, former.newest)
  return [unmine, Command.Broadcast({ ordinals }), pollNext(situation)]
}

const reverted = (attempt: Attempt | undefined, { receipt }: Mined): Command => {
  const { revertReason, gasUsed, blockNumber } = receipt
  const figures = { block: blockNumber, ...(revertReason === undefined ? {} : { revert_reason: revertReason }) }
  const isOutOfGas = attempt !== undefined && gasUsed >= attempt.gasLimit
  return Command.Finish({ state: "failed", cause: cause(isOutOfGas ? "out_of_gas" : "reverted", figures) })
}

const confirmed = ({ transaction }: Situation, { receipt }: Mined): Command =>
  Command.Finish({
    state: "confirmed",
    cause: cause(transaction.intent === "expire" ? "executed_late" : "confirmed", { block: receipt.blockNumber })
  })

const finish = (situation: Situation, mined: Mined): Command => {
  const attempt = situation.transaction.attempts.find(({ ordinal }) => ordinal === mined.ordinal)
  if (attempt !== undefined && isNoop(attempt)) return endOf(situation.transaction)
  return mined.receipt.isSuccess ? confirmed(situation, mined) : reverted(attempt, mined)
}

export const decideMined = (situation: Situation<Seen>, mined: Mined): Commands => {
  const { view, transaction } = situation
  switch (standingOf(view, mined)) {
    case "gone":
      return reorged(situation, mined)
    case "final":
      return [finish(situation, mined)]
    case "waiting": {
      const code = transaction.state === "mined" ? "mined_waiting" : "reverted_unconfirmed"
      return hold(situation, cause(code, depthOf(view, mined.receipt.blockNumber)))
    }
  }
}
