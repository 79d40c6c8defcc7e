// Decisions about a receipt that was recorded: of a transaction that is mined, or that was reverted and is not final yet.
import { isNoop } from "../Attempt.ts"
import type { Attempt } from "../Attempt.ts"
import { cause } from "../Cause.ts"
import type { Figures } from "../Cause.ts"
import { Command, finish } from "../Command.ts"
import type { Commands } from "../Command.ts"
import { nonceOf } from "./Evm.ts"
import type { Evm } from "./Evm.ts"
import { hold, pollNext } from "./Holding.ts"
import { formerOf } from "./Replacements.ts"
import { candidates } from "./Resend.ts"
import { endOf } from "../Transition.ts"
import type { Situation } from "../Situation.ts"
import type { Mined } from "../Transaction.ts"
import { depthOf, isDeep, verdictOn } from "./View.ts"
import type { Seen } from "./View.ts"

/**
 * `gone`: the chain has another block at that height. `final`: the block is deep, and another provider has the same receipt in
 * it, unless there is only one. `disputed`: another provider has another block or another receipt, and none agrees.
 */
type ReceiptState = "gone" | "final" | "disputed" | "waiting"

/** The chain does not even count the nonce as used at a depth at which the receipt should be final: it was a lie. */
const isInvented = ({ transaction, view }: Situation<Evm, Seen>): boolean => {
  const { second } = view.minedAt ?? {}
  const nonce = nonceOf(transaction)
  return nonce !== undefined && view.count <= nonce && second !== "not_configured" && second?.receipt === null
}

const receiptStateOf = (situation: Situation<Evm, Seen>, { receipt }: Mined<Evm>): ReceiptState => {
  const { view } = situation
  const { first, second } = view.minedAt ?? {}
  if (first === undefined || view.head.number < receipt.height) return "waiting"
  if (first !== receipt.blockHash) return "gone"
  if (!isDeep(view, receipt.height)) return "waiting"
  const verdict = verdictOn(receipt, second)
  if (verdict === "none") return isInvented(situation) ? "gone" : "waiting"
  return verdict === "agrees" ? "final" : "disputed"
}

const disputeOf = ({ minedAt }: Seen, { receipt }: Mined<Evm>): Figures => {
  const second = minedAt?.second
  const host = second === "not_configured" ? undefined : second?.host
  return { block: receipt.height, ...(host === undefined ? {} : { host }) }
}

/** The block is gone: the receipt is forgotten, and the bytes are sent again. */
const reorged = (situation: Situation<Evm, Seen>, { receipt }: Mined<Evm>): Commands<Evm> => {
  const former = formerOf(situation.transaction)
  const unmine = Command.Unmine({ cause: cause("reorged", { block: receipt.height }) })
  if (former === undefined) return [unmine, pollNext(situation)]
  const ordinals = candidates(former.attempts, former.newest)
  return [unmine, Command.Broadcast({ ordinals }), pollNext(situation)]
}

const reverted = (attempt: Attempt<Evm> | undefined, { receipt }: Mined<Evm>): Command<Evm> => {
  const { revertReason, gasUsed } = receipt.details
  const figures = { block: receipt.height, ...(revertReason === undefined ? {} : { revert_reason: revertReason }) }
  const isOutOfGas = attempt !== undefined && gasUsed >= attempt.offer.gasLimit
  return finish({ state: "failed", cause: cause(isOutOfGas ? "out_of_gas" : "reverted", figures) })
}

const confirmed = ({ transaction }: Situation<Evm>, { receipt }: Mined<Evm>): Command<Evm> =>
  finish({
    state: "confirmed",
    cause: cause(transaction.intent === "expire" ? "executed_late" : "confirmed", { block: receipt.height })
  })

const finishOf = (situation: Situation<Evm>, mined: Mined<Evm>): Command<Evm> => {
  const attempt = situation.transaction.attempts.find(({ ordinal }) => ordinal === mined.ordinal)
  if (attempt !== undefined && isNoop(attempt)) return endOf(situation.transaction)
  return mined.receipt.isSuccess ? confirmed(situation, mined) : reverted(attempt, mined)
}

export const decideMined = (situation: Situation<Evm, Seen>, mined: Mined<Evm>): Commands<Evm> => {
  const { view, transaction } = situation
  switch (receiptStateOf(situation, mined)) {
    case "gone":
      return reorged(situation, mined)
    case "final":
      return [finishOf(situation, mined)]
    case "disputed":
      return hold(situation, cause("providers_disagree", disputeOf(view, mined)))
    case "waiting": {
      const code = transaction.state === "mined" ? "mined_waiting" : "reverted_unconfirmed"
      return hold(situation, cause(code, depthOf(view, mined.receipt.height)))
    }
  }
}
