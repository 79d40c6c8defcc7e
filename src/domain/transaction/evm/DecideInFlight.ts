// Decisions about transactions that have a nonce and bytes, and no receipt that still stands.
import { Result } from "effect"
import { allow } from "./Allowance.ts"
import { isNoop } from "../Attempt.ts"
import { cause } from "../Cause.ts"
import type { Cause, Figures } from "../Cause.ts"
import { ask, Command, mine } from "../Command.ts"
import type { Commands } from "../Command.ts"
import { nonceOf } from "./Evm.ts"
import type { Evm } from "./Evm.ts"
import { hold, pollNext } from "./Holding.ts"
import { decideTaken } from "./DecideTaken.ts"
import { maxFeeOf } from "./Fees.ts"
import { availableOf, evmReservationOf, withPayment } from "./Funds.ts"
import { dueOf, formerOf, intentCause, needsEstimate } from "./Replacements.ts"
import type { Former } from "./Replacements.ts"
import { candidates, dueIn } from "./Resend.ts"
import type { Due } from "./Resend.ts"
import { firstOf } from "../Situation.ts"
import type { Row, Situation } from "../Situation.ts"
import { currentAttempts } from "../Transaction.ts"
import { depthOf, isDeep } from "./View.ts"
import type { Seen } from "./View.ts"

/** A receipt of any attempt. The one of a no-op counts as mined whatever its status: it had nothing to execute. */
const receipt: Row<Evm, Seen> = (situation) => {
  const { transaction, view, terms, now } = situation
  for (const attempt of currentAttempts(transaction)) {
    const { ordinal } = attempt
    const sight = view.sights.get(ordinal)
    if (sight?._tag !== "Receipt") continue
    const receipt = withPayment(attempt, sight.receipt)
    const { height, isSuccess } = receipt
    const isMined = isSuccess || isNoop(attempt)
    if (!isMined && terms.wantsRevertReason && sight.isReasonAsked !== true) {
      return [ask<Evm>({ _tag: "RevertReason", ordinal, receipt })]
    }
    const recorded = mine<Evm>({
      mined: { ordinal, receipt },
      state: isMined ? "mined" : "submitted",
      cause: cause(isMined ? "mined_waiting" : "reverted_unconfirmed", depthOf(view, height))
    })
    return [recorded, isDeep(view, height) ? Command.PollAt({ at: now }) : pollNext(situation)]
  }
  return undefined
}

/** From here on only a no-op is signed at the nonce. */
const deadline: Row<Evm, Seen> = ({ transaction, now }) => {
  if (transaction.intent !== "execute" || now < transaction.validUntil) return undefined
  return [Command.Intend({ intent: "expire", cause: cause("expiring") }), Command.PollAt({ at: now })]
}

/** What the signed bytes can cost. Unlike before a signature, nothing has to stay on the account. */
const missingFunds = ({ transaction, rest, view: { balance } }: Situation<Evm, Seen>): Figures => {
  const { reserved } = rest
  const required = { required: evmReservationOf(transaction), reserved, minimum: 0n }
  return balance === undefined ? required : { ...required, available: availableOf(balance, reserved) }
}

/** Codes of a price that nodes refused and that is not raised now, and of a balance that does not cover the bytes. */
const refusedCause = (situation: Situation<Evm, Seen>, { newest }: Former): Cause | undefined => {
  const { outcome, refusal, offer } = newest
  if (outcome !== "refused" || refusal === undefined) return undefined
  if (refusal.class === "funds") return cause("insufficient_funds", missingFunds(situation))
  if (refusal.class === "permanent") return cause("not_in_pool_rebroadcast", { sends: newest.sends })
  return refusal.class === "bump" || refusal.class === "price"
    ? cause("underpriced_bumping", { price: maxFeeOf(offer.fees) })
    : undefined
}

const waitingCause = (situation: Situation<Evm, Seen>, former: Former, due: Due): Cause => {
  const { transaction, isDeepReorg, view } = situation
  const { newest } = former
  const { intent, state } = transaction
  const nonce = nonceOf(transaction) ?? 0
  if (isDeepReorg && nonce > view.count) return cause("deep_reorg", { nonce, count: view.count })
  if (intent !== "execute") {
    const why = intentCause(transaction)
    return isNoop(newest) ? { ...why, figures: { ...why.figures, hash: newest.hash } } : why
  }
  const refused = refusedCause(situation, former)
  if (refused !== undefined) return refused
  if (state === "signed") return cause("sending", { sends: newest.sends })
  return cause(due === "now" ? "not_in_pool_rebroadcast" : "in_pool", { sends: newest.sends })
}

/** What nothing else applies to is sent again if that is due. `blocked`: why a signature that is due is not made. */
const wait = (situation: Situation<Evm, Seen>, former: Former, blocked: Cause | undefined): Commands<Evm> => {
  const due = dueIn(situation, former.newest)
  const held = hold(situation, blocked ?? waitingCause(situation, former, due))
  return due === "now" ? [Command.Broadcast({ ordinals: candidates(former.attempts, former.newest) }), ...held] : held
}

/** A signature that is due but not allowed must not hide what comes after it: evicted bytes have to be sent again. */
const progress = (situation: Situation<Evm, Seen>): Commands<Evm> => {
  const former = formerOf(situation.transaction)
  if (former === undefined) return hold(situation, cause("sending", { sends: 0 }))
  if (needsEstimate(situation, former)) return [ask<Evm>({ _tag: "Estimate" })]
  const due = dueOf(situation, former)
  if (due === undefined) return wait(situation, former, undefined)
  if (Result.isSuccess(due) && due.success.kind !== "noop" && !situation.terms.isAllowed) {
    const why = cause("policy_changed")
    return [
      Command.Intend({ intent: "clear", clearCode: "policy_changed", cause: why }),
      Command.PollAt({ at: situation.now })
    ]
  }
  const signature = Result.flatMap(due, (wanted) => allow(situation, wanted))
  return Result.isSuccess(signature)
    ? [signature.success, pollNext(situation)]
    : wait(situation, former, signature.failure)
}

export const decideInFlight = firstOf<Evm, Seen>([receipt, decideTaken, deadline], progress)
