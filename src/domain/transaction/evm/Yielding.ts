// A transaction whose given fees, or whose API key's limit, no block takes does not keep those behind it waiting for ever: a no-op uses its nonce, and the
// request waits without one.
import { cause } from "../Cause.ts"
import type { Cause } from "../Cause.ts"
import { Command } from "../Rules.ts"
import type { Commands, Situation } from "../Rules.ts"
import { newestRequest, requestOf } from "../Transaction.ts"
import type { Evm, Request } from "./Evm.ts"
import { yielding } from "./EvmNumbers.ts"
import { maxFeeOf } from "./Fees.ts"
import { givenFees, speedOf } from "./Offer.ts"
import { isHead, isPatienceOver } from "./Replacements.ts"
import type { Former } from "./Replacements.ts"
import type { Seen } from "./View.ts"

/** Whether others of its lane wait for its nonce, or for room in the window. */
const hasOthersBehind = ({ lane, rest }: Situation<Evm>): boolean =>
  rest.inFlight > 1 || (rest.inFlight >= lane.windowSize && rest.survey.open > 1)

/** Whether the request or its API key limits the price. What the relayer's policy limits holds all of the relayer alike. */
const isLimitedAlone = (request: Request, { figures: { limit } }: Cause): boolean =>
  givenFees(request) !== undefined || limit === "api_key"

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
  const base = baseFee === undefined ? {} : { base_fee: baseFee }
  const priced =
    given === undefined
      ? cause("gas_price_above_cap", { ...base, limit: "api_key" })
      : cause("gas_price_below_base_fee", { ...base, price: maxFeeOf(given), limit: "given" })
  const why = restored ? cause("restored_unproven") : priced
  return Command.Requeue({ restored, requeues, yields: yields + 1, cause: why })
}
