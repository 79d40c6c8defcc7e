// When a transaction that no block takes gives its nonce up: given fees, its API key's limit, or accounts of its authorizations that pools refuse do
// not keep those behind it waiting for ever. A no-op uses the nonce, and the request waits without one.
import { cause } from "../../core/Cause.ts"
import type { Cause } from "../../core/Cause.ts"
import { Command, finish } from "../../core/Rules.ts"
import type { Commands, Situation } from "../../core/Rules.ts"
import { currentAttempts, isNoop, newestRequest, requestOf } from "../../core/Transaction.ts"
import type { Attempt, Transaction } from "../../core/Transaction.ts"
import { givenFees, speedOf } from "./Costs.ts"
import type { Evm, Request, Seen } from "./Evm.ts"
import { yielding } from "./EvmNumbers.ts"
import { carriesList, hasWaited, isHead, isListDropped, isPatienceOver } from "./InFlight.ts"
import type { Former } from "./InFlight.ts"
import { maxFeeOf } from "./Market.ts"

/** Whether others of its lane wait for its nonce, or for room in the window. */
const hasOthersBehind = ({ lane, rest }: Situation<Evm>): boolean =>
  rest.inFlight > 1 || (rest.inFlight >= lane.windowSize && rest.survey.open > 1)

/** Whether the request or its API key limits the price. What the relayer's policy limits holds all of the relayer alike. */
const isLimitedAlone = (request: Request, { figures: { limit } }: Cause): boolean =>
  givenFees(request) !== undefined || limit === "api_key"

/** How often a transaction has given its nonce up in vain. */
const isAtLastYield = ({ yields = 0 }: Transaction<Evm>): boolean => yields + 1 >= yielding.atMost

/** Attempts at the nonce with the list of the newest one. */
const sameList = ({ attempts, newest }: Former): ReadonlyArray<Attempt<Evm>> =>
  attempts.filter((attempt) => !isNoop(attempt) && attempt.requestVersion === newest.requestVersion)

/** Whether pools have dropped the list although its price was raised before. */
export const isRaisedInVain = (former: Former): boolean => sameList(former).length > 1

/**
 * A user who keeps the account of an authorization busy does not keep others waiting, whether or not a higher price could still be offered. The
 * patience runs since the list was first sent, so that no raise of the price starts it anew; the newest bytes have one of their own. Undefined: it
 * keeps its nonce.
 */
export const yieldsToBusy = (situation: Situation<Evm, Seen>, former: Former): Commands<Evm> | undefined => {
  const { transaction, view, now } = situation
  const firstSent = sameList(former).find((attempt) => attempt.firstSent !== undefined)?.firstSent
  if (transaction.intent !== "execute" || firstSent === undefined || !hasWaited(situation, former)) return undefined
  if (!isListDropped(situation, former) || !hasOthersBehind(situation)) return undefined
  const speed = speedOf(requestOf(transaction, former.newest))
  const at = { at: now, height: view.head.number }
  if (!isPatienceOver(speed, firstSent, at, yielding.patience)) return undefined
  return [
    Command.Intend({ intent: "clear", clearCode: "yielding", cause: cause("yielding") }),
    Command.PollAt({ at: now })
  ]
}

/** `blocked`: why a signature that is due is not made. Undefined: it keeps its nonce. */
export const yieldsNonce = (
  situation: Situation<Evm, Seen>,
  { newest }: Former,
  blocked: Cause
): Commands<Evm> | undefined => {
  const { transaction, view, now } = situation
  const { intent, yields = 0 } = transaction
  const request = requestOf(transaction, newest)
  if (intent !== "execute" || !isLimitedAlone(request, blocked) || newest.firstSent === undefined) return undefined
  // Its authorization would be valid for anybody from then on.
  if (request.delegate !== undefined) return undefined
  if (blocked.code !== "below_base_fee" || !isHead(situation) || yields >= yielding.atMost) return undefined
  const at = { at: now, height: view.head.number }
  if (!hasOthersBehind(situation) || !isPatienceOver(speedOf(request), newest.firstSent, at, yielding.patience)) {
    return undefined
  }
  return [
    Command.Intend({ intent: "clear", clearCode: "yielding", cause: { code: "yielding", figures: blocked.figures } }),
    Command.PollAt({ at: now })
  ]
}

/** The no-op is final: the request goes on without a nonce. This is no requeue, because no foreign transaction was there. */
export const yielded = ({ transaction, view }: Situation<Evm>): Command<Evm> => {
  const { restored, requeues, yields = 0 } = transaction
  const given = givenFees(newestRequest(transaction))
  const baseFee = view._tag === "Seen" ? view.market?.baseFee : undefined
  const executing = currentAttempts(transaction).findLast((attempt) => !isNoop(attempt))
  const paid = executing !== undefined && (baseFee === undefined || maxFeeOf(executing.offer.fees) >= baseFee)
  if (paid && carriesList(transaction, executing) && !restored) {
    return isAtLastYield(transaction)
      ? finish<Evm>({ state: "failed", cause: cause("authority_busy") })
      : Command.Requeue({ restored, requeues, yields: yields + 1, cause: cause("authority_busy") })
  }
  const base = baseFee === undefined ? {} : { base_fee: baseFee }
  const priced =
    given === undefined
      ? cause("gas_price_above_cap", { ...base, limit: "api_key" })
      : cause("gas_price_below_base_fee", { ...base, price: maxFeeOf(given), limit: "given" })
  const why = restored ? cause("restored_unproven") : priced
  return Command.Requeue({ restored, requeues, yields: yields + 1, cause: why })
}
