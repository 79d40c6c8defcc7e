// Decisions about transactions that have a nonce and bytes: first about those without a receipt that still stands, then about a
// receipt that was recorded, of a transaction that is mined, or that was reverted and is not final yet.
import { Result } from "effect"
import { stalledAfter } from "../../../domain/chain/Rpc.ts"
import { cause } from "../../core/Cause.ts"
import type { Cause, Figures, KnownCode } from "../../core/Cause.ts"
import { present } from "../../core/Presentation.ts"
import { depthOfOne, verdictOf } from "../../core/Rows.ts"
import type { Opinion, Verdict } from "../../core/Rows.ts"
import { ask, Command, finish, firstOf, isUnsettled, mine } from "../../core/Rules.ts"
import type { Commands, Finish, Row, Situation } from "../../core/Rules.ts"
import { currentAttempts, isNoop, isYielding, newestRequest, requestOf } from "../../core/Transaction.ts"
import type { Attempt, Mined, Receipt } from "../../core/Transaction.ts"
import { maxRequeues } from "../../core/TransactionValues.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { endOf } from "../../core/Transition.ts"
import { isOwnCall } from "./Admission.ts"
import { availableOf, evmReservationOf, withPayment } from "./Costs.ts"
import { askCode, isBound, isJudgedByCode, judgedByCode, needsCode, unfitFurther, unjudged } from "./Delegation.ts"
import { depthOf, isDeep, isPrivate, nonceOf, noncesOf, requiredNonceOf, verdictOn } from "./Evm.ts"
import type { Evm, ForeignCall, Seen } from "./Evm.ts"
import { indexPatience, privateBlocks, unknownRefusalsBeforeHold } from "./EvmNumbers.ts"
import {
  allowSignature,
  candidates,
  dueIn,
  dueOf,
  endOfNewer,
  formerOf,
  hold,
  intentCause,
  isDropped,
  isGivenUp,
  isHeldByWords,
  isPassedOver,
  lacksProviders,
  isKeptOut,
  needsAuthorities,
  needsEstimate,
  pollNext
} from "./InFlight.ts"
import type { Due, DueSignature, Former } from "./InFlight.ts"
import { couldBe, takerVerdictOf } from "./LaneNonces.ts"
import { maxFeeOf } from "./Market.ts"
import { blocksWaited, leaking, rerouting } from "./Route.ts"
import { isRaisedInVain, yielded, yieldsNonce, yieldsToBusy } from "./Yielding.ts"

// Decisions about a transaction whose nonce the chain has passed without a receipt of one of its attempts.

interface Taken {
  readonly hash?: string
  readonly call?: ForeignCall
}

/**
 * The nonce is proven lost, so all bytes of the transaction are dead. A request gets a new nonce, unless the ledger may
 * have forgotten an attempt of it: then the transaction that used the nonce could be this one, and an operator decides.
 * What ends here keeps no nonce: if a deep reorganisation opens it again, only a no-op of the lane may use it.
 */
const lost = ({ transaction }: Situation<Evm>, { hash, call }: Taken): Command<Evm> => {
  const { restored, intent, requeues } = transaction
  const isWanted = intent === "execute" || isYielding(transaction)
  const again = isYielding(transaction) ? { yields: transaction.yields ?? 0 } : {}
  const nonce = nonceOf(transaction)
  const required = requiredNonceOf(transaction)
  const figures = { ...(hash === undefined ? {} : { hash }), ...(nonce === undefined ? {} : { nonce }) }
  const isLost = call !== undefined && couldBe(transaction, call)
  if (!isGivenUp(transaction) && (restored || isLost)) {
    return Command.Requeue({ restored: true, requeues, ...again, cause: cause("restored_unproven", figures) })
  }
  if (!isWanted) return { ...endOf(transaction), losesPlace: true }
  const failed = (why: Cause) => finish<Evm>({ state: "failed", cause: why, losesPlace: true })
  if (required !== undefined) {
    return failed(cause("nonce_unavailable", { ...figures, required_nonce: required }))
  }
  return requeues >= maxRequeues
    ? failed(cause("nonce_taken_too_often", figures))
    : Command.Requeue({ restored: false, requeues: requeues + 1, ...again, cause: cause("nonce_taken", figures) })
}

const unproven = (situation: Situation<Evm, Seen>, nonce: number): Commands<Evm> => {
  const { transaction, view } = situation
  const figures = { nonce, count: view.count }
  if (!isGivenUp(transaction)) return hold(situation, cause("nonce_taken_unproven", figures))
  return view.hasNoReceipt === true
    ? [{ ...endOf(transaction), losesPlace: true }]
    : hold(situation, cause("nonce_taken_unproven", { ...figures, answer: "give_up" }))
}

/** Another used nonce may be of this very request: nothing gets another nonce before all of them are explained. */
const isUnexplained = ({ stop, ownStop, transaction, unsettledBefore }: Situation<Evm>): boolean =>
  (stop ?? ownStop)?.code === "nonce_unexplained" || isUnsettled(transaction, unsettledBefore)

/** The index of the provider lags behind its blocks. What has used the nonce may be an attempt, so nothing is concluded. */
const behind = (situation: Situation<Evm, Seen>, nonce: number, since: Moment): Commands<Evm> => {
  const { transaction, view, terms, now } = situation
  if (isGivenUp(transaction) || now - since >= indexPatience) return unproven(situation, nonce)
  return now - since >= stalledAfter(terms.network.blockTime)
    ? hold(situation, cause("providers_unavailable", { nonce, count: view.count }))
    : [pollNext(situation)]
}

const prove = (situation: Situation<Evm, Seen>, nonce: number): Commands<Evm> => {
  const { transaction, lane, view } = situation
  if (view.countAtFinal !== undefined && view.countAtFinal <= nonce) return [pollNext(situation)]
  if (view.taker === undefined) return [ask<Evm>({ _tag: "Foreign", nonce })]
  const verdict = takerVerdictOf(transaction, noncesOf(lane).address, view, situation.now)
  switch (verdict._tag) {
    case "Own":
      return hold(situation, cause("mined_waiting", depthOf(view, verdict.block)))
    case "NotDeep":
      return [pollNext(situation)]
    case "Behind":
      return behind(situation, nonce, verdict.since)
    case "Unproven":
      return unproven(situation, nonce)
    case "Taken":
      if (isUnexplained(situation)) return hold(situation, cause("nonce_unexplained", { nonce, count: view.count }))
      return [lost(situation, verdict), Command.PollAt({ at: situation.now })]
  }
}

/** `count` is what this view says, never what the ledger remembers: the ledger may know of a block that is gone. */
const decideTaken: Row<Evm, Seen> = (situation) => {
  const { transaction, view } = situation
  const { origin } = transaction
  const nonce = nonceOf(transaction)
  if (nonce === undefined || view.count <= nonce) return undefined
  if (origin === "request") return prove(situation, nonce)
  // Whatever used the nonce of a gap, the gap is gone.
  const isGone = view.countAtFinal !== undefined && view.countAtFinal > nonce
  return [isGone ? endOf(transaction) : pollNext(situation)]
}

/** It ran out of gas, or the EVM stopped it for another reason: exceptional halts use all gas. */
const hasUsedAllGas = ({ offer }: Attempt<Evm>, { details: { gasUsed } }: Receipt<Evm>): boolean =>
  gasUsed >= offer.gasLimit

/** What providers say of the code at the block. */
const withDelegated = (receipt: Receipt<Evm>, { delegated }: Seen): Receipt<Evm> =>
  delegated === undefined ? receipt : { ...receipt, details: { ...receipt.details, delegated } }

/** Whether the code of authorities at the block is not known, and this poll did not ask for it. */
const lacksDelegations = (
  { transaction, view }: Situation<Evm, Seen>,
  attempt: Attempt<Evm>,
  { details: { delegated } }: Receipt<Evm>
): boolean =>
  view.delegated === undefined &&
  !isNoop(attempt) &&
  requestOf(transaction, attempt).authorization_list !== undefined &&
  (delegated === undefined || delegated.includes(null))

/** A receipt of any attempt. The one of a no-op counts as mined whatever its status: it had nothing to execute. */
const receipt: Row<Evm, Seen> = (situation) => {
  const { transaction, view, terms, now } = situation
  for (const attempt of currentAttempts(transaction)) {
    const { ordinal } = attempt
    const sight = view.sights.get(ordinal)
    if (sight?._tag !== "Receipt") continue
    const receipt = withDelegated(withPayment(attempt, sight.receipt), view)
    const { height, isSuccess } = receipt
    const isMined = isSuccess || isNoop(attempt) || isJudgedByCode(transaction, attempt)
    if (needsCode(transaction, attempt, isSuccess) && receipt.details.code === undefined && view.codeAt === undefined) {
      return askCode(situation, attempt, receipt)
    }
    // Clients take `mined` for success, and this request will still be executed.
    const isShownMined = isMined && !(isNoop(attempt) && isYielding(transaction))
    const isWanted = terms.wantsRevertReason
    if (!isMined && (isWanted || hasUsedAllGas(attempt, receipt)) && sight.isReasonAsked !== true) {
      return [ask<Evm>({ _tag: "RevertReason", ordinal, receipt, isWanted })]
    }
    if (lacksDelegations(situation, attempt, receipt)) return [ask<Evm>({ _tag: "Delegations", ordinal, height })]
    const recorded = mine<Evm>({
      mined: { ordinal, receipt },
      state: isShownMined ? "mined" : "submitted",
      cause: cause(
        isShownMined ? "mined_waiting" : isMined ? "yielding" : "reverted_unconfirmed",
        depthOf(view, height)
      )
    })
    return [recorded, isDeep(view, height) ? Command.PollAt({ at: now }) : pollNext(situation)]
  }
  return undefined
}

/** From here on only a no-op is signed at the nonce. */
const deadline: Row<Evm, Seen> = ({ transaction, now }) => {
  if (transaction.intent !== "execute" || now < transaction.validUntil || isBound(transaction)) return undefined
  return [Command.Intend({ intent: "expire", cause: cause("expiring") }), Command.PollAt({ at: now })]
}

/** What the signed bytes can cost. Unlike before a signature, nothing has to stay on the account. */
const missingFunds = ({ transaction, rest, view: { balance } }: Situation<Evm, Seen>): Figures => {
  const { reserved } = rest
  const required = { required: evmReservationOf(transaction), reserved, minimum: 0n }
  return balance === undefined ? required : { ...required, available: availableOf(balance, reserved) }
}

/** `chain_stalled`, if no provider has shown a new block for a long time, and the transaction has waited as long. */
const stalledCause = ({ view: { head, stalledSince }, terms, now }: Situation<Evm, Seen>, since: Moment) =>
  stalledSince === undefined || now - since < stalledAfter(terms.network.blockTime)
    ? undefined
    : cause("chain_stalled", { newest_block: head.number, stalled_since: stalledSince })

/** Codes of a price that nodes refused and that is not raised now, and of a balance that does not cover the bytes. */
const refusedCause = (situation: Situation<Evm, Seen>, former: Former): Cause | undefined => {
  const { newest } = former
  const { outcome, refusal, offer } = newest
  if (outcome !== "refused" || refusal === undefined) return undefined
  if (refusal.class === "funds") return cause("insufficient_funds", missingFunds(situation))
  if (refusal.class === "permanent") return cause("not_in_pool_rebroadcast", { sends: newest.sends })
  const { times = 0, words } = refusal
  if (times >= unknownRefusalsBeforeHold && isHeldByWords(situation, former)) {
    return cause("refused_in_unknown_words", { times, ...present("error", words), sends: newest.sends })
  }
  return refusal.class === "bump" || refusal.class === "price"
    ? cause("underpriced_bumping", { price: maxFeeOf(offer.fees) })
    : undefined
}

/** What no block includes although three could have paid for it. Many private providers include nothing that reverts. */
const notIncluded = (situation: Situation<Evm, Seen>, { newest }: Former): Cause | undefined => {
  const { transaction, view } = situation
  const { route, validUntil } = transaction
  const blocks = blocksWaited(situation)
  if (route?.since === undefined || blocks < privateBlocks.beforeShown) return undefined
  if ((view.market?.baseFee ?? 0n) > maxFeeOf(newest.offer.fees)) return undefined
  const fallback = route.fallbackAfter === undefined ? validUntil : route.since + route.fallbackAfter
  const { reason, wouldRevert } = view.revertsNow ?? {}
  return cause("private_not_included", {
    blocks,
    sends: newest.sends,
    until: Math.min(fallback, validUntil),
    ...present("would_revert_now", wouldRevert),
    ...present("revert_reason", reason)
  })
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
  if (lacksProviders(situation, newest)) return cause("no_private_rpc")
  const refused = refusedCause(situation, former)
  if (refused !== undefined) return refused
  const stalled = newest.firstSent && stalledCause(situation, newest.firstSent.at)
  if (stalled !== undefined) return stalled
  const passedOver = notIncluded(situation, former)
  if (passedOver !== undefined) return passedOver
  if (due === "after_predecessors" && transaction.route !== undefined) {
    return cause("waits_for_predecessors", { nonce })
  }
  const { acceptedBy = [] } = view
  const accepted = { sends: newest.sends, ...(acceptedBy.length === 0 ? {} : { host: acceptedBy.join(", ") }) }
  if (isKeptOut(situation, former)) return cause("authority_busy", { sends: newest.sends })
  if (isDropped(situation, former)) return cause("dropped_by_node", accepted)
  if (isPassedOver(situation, former)) return cause("accepted_not_included", accepted)
  if (state === "signed") return cause("sending", { sends: newest.sends })
  const isMissing = due === "now" && !isPrivate(transaction, newest)
  return cause(isMissing ? "not_in_pool_rebroadcast" : "in_pool", { sends: newest.sends })
}

/** What nothing else applies to is sent again if that is due. `blocked`: why a signature that is due is not made. */
const wait = (situation: Situation<Evm, Seen>, former: Former, blocked: Cause | undefined): Commands<Evm> => {
  const due = dueIn(situation, former.newest)
  const why = blocked ?? waitingCause(situation, former, due)
  if (why.code === "private_not_included" && situation.view.revertsNow === undefined) {
    return [ask<Evm>({ _tag: "RevertsNow" })]
  }
  const held = hold(situation, why)
  return due === "now" ? [Command.Broadcast({ ordinals: candidates(former.attempts, former.newest) }), ...held] : held
}

/** Why a signature that is due is not made at all: a no-op uses the nonce instead. */
const forbiddenBy = ({ transaction, terms, view }: Situation<Evm, Seen>, { kind }: DueSignature) => {
  if (kind === "noop") return undefined
  if (!terms.isAllowed) return "policy_changed"
  const isOwn = kind === "replace" && view.hasCode === true && isOwnCall(newestRequest(transaction), terms.address)
  return isOwn ? "own_account_has_code" : undefined
}

/** Nothing is to happen at the nonce any more. */
const cleared = ({ now }: Situation<Evm>, code: KnownCode, figures: Figures = {}): Commands<Evm> => [
  Command.Intend({ intent: "clear", clearCode: code, cause: cause(code, figures) }),
  Command.PollAt({ at: now })
]

/** A signature that is due but not allowed must not hide what comes after it: evicted bytes have to be sent again. */
const progress = (situation: Situation<Evm, Seen>): Commands<Evm> => {
  const former = formerOf(situation.transaction)
  if (former === undefined) return hold(situation, cause("sending", { sends: 0 }))
  const unfit = situation.transaction.intent === "execute" ? unfitFurther(situation) : undefined
  if (unfit?.clears === true) {
    return [
      Command.Intend({ intent: "clear", clearCode: "not_delegated", cause: unfit.cause }),
      Command.PollAt({ at: situation.now })
    ]
  }
  if (needsAuthorities(situation, former)) return [ask<Evm>({ _tag: "Authorities" })]
  const end = endOfNewer(situation, former)
  if (end !== undefined) return cleared(situation, end.code, end.figures)
  if (needsEstimate(situation, former)) return [ask<Evm>({ _tag: "Estimate" })]
  const due = dueOf(situation, former)
  const yields = yieldsToBusy(situation, former)
  if (due === undefined) return yields ?? wait(situation, former, undefined)
  if (unfit !== undefined) return wait(situation, former, unfit.cause)
  const forbidden = Result.isSuccess(due) ? forbiddenBy(situation, due.success) : undefined
  if (forbidden !== undefined) return cleared(situation, forbidden)
  const signature = Result.flatMap(due, (wanted) => allowSignature(situation, wanted))
  if (Result.isFailure(signature)) {
    return yieldsNonce(situation, former, signature.failure) ?? yields ?? wait(situation, former, signature.failure)
  }
  // A market that rises all the time would keep the others waiting for ever.
  const isInVain = signature.success.kind === "bump" && isRaisedInVain(former)
  return isInVain && yields !== undefined ? yields : [signature.success, pollNext(situation)]
}

const sendAgain = (situation: Situation<Evm, Seen>): Commands<Evm> => {
  const former = formerOf(situation.transaction)
  if (former === undefined) return [pollNext(situation)]
  const held = hold(situation, waitingCause(situation, former, "not_yet"))
  return [Command.Broadcast({ ordinals: candidates(former.attempts, former.newest) }), ...held]
}

export const decideInFlight = firstOf<Evm, Seen>(
  [receipt, decideTaken, leaking, deadline, rerouting(sendAgain)],
  progress
)

/**
 * `Gone`: the chain has another block at that height. `Agreed`: the block is deep, and another provider has the same receipt in
 * it, unless there is only one. `Disputed`: another provider has another block or another receipt, and none agrees.
 * `Outvoted`: two others have the same other block or receipt, and none agrees.
 */
type ReceiptState = Verdict | { readonly _tag: "Gone" | "Outvoted" }

/** The chain does not even count the nonce as used at a depth at which the receipt should be final: it was a lie. */
const isInvented = ({ transaction, view }: Situation<Evm, Seen>): boolean => {
  const { second } = view.minedAt ?? {}
  const nonce = nonceOf(transaction)
  return nonce !== undefined && view.count <= nonce && second !== "not_configured" && second?.receipt === null
}

const waiting: Verdict = { _tag: "Waiting" }

/** One provider decides alone only about a block that is deeper than required. */
const ofOthers = (
  { transaction, terms, view, now }: Situation<Evm, Seen>,
  { receipt }: Mined<Evm>,
  others: ReadonlyArray<Opinion>
): Verdict => {
  if (others.length === 0) return waiting
  const { blocks, required_blocks: required } = depthOf(view, receipt.height)
  const verdict = verdictOf(others, transaction, { ...terms.network, required }, now)
  return verdict._tag === "Alone" && blocks < depthOfOne * required ? { ...verdict, _tag: "Missing" } : verdict
}

const receiptStateOf = (situation: Situation<Evm, Seen>, mined: Mined<Evm>): ReceiptState => {
  const { view } = situation
  const { receipt } = mined
  const { first, second, others = [], isOutvoted = false } = view.minedAt ?? {}
  if (first === undefined || view.head.number < receipt.height) return waiting
  if (first !== receipt.blockHash) return { _tag: "Gone" }
  if (!isDeep(view, receipt.height)) return waiting
  const verdict = verdictOn(receipt, second)
  if (verdict === "agrees") return { _tag: "Agreed" }
  if (isInvented(situation)) return { _tag: "Gone" }
  if (isOutvoted) return { _tag: "Outvoted" }
  return verdict === "disagrees" && second !== undefined && second !== "not_configured"
    ? { _tag: "Disputed", ...present("host", second.host) }
    : ofOthers(situation, mined, others)
}

/** The block is gone: the receipt is forgotten, and the bytes are sent again. */
const reorged = (situation: Situation<Evm, Seen>, { receipt }: Mined<Evm>): Commands<Evm> => {
  const former = formerOf(situation.transaction)
  const unmine = Command.Unmine({ cause: cause("reorged", { block: receipt.height }) })
  if (former === undefined) return [unmine, pollNext(situation)]
  const ordinals = candidates(former.attempts, former.newest)
  return [unmine, Command.Broadcast({ ordinals }), pollNext(situation)]
}

const reverted = (attempt: Attempt<Evm> | undefined, { receipt }: Mined<Evm>): Finish<Evm> => {
  const { revertReason } = receipt.details
  const figures = { block: receipt.height, ...(revertReason === undefined ? {} : { revert_reason: revertReason }) }
  const { isOutOfGas = attempt !== undefined && hasUsedAllGas(attempt, receipt) } = receipt.details
  return finish({ state: "failed", cause: cause(isOutOfGas ? "out_of_gas" : "reverted", figures) })
}

/** Nodes skip an entry that they cannot apply, and the call of an account without code succeeds. */
const confirmed = ({ transaction }: Situation<Evm>, { receipt }: Mined<Evm>): Finish<Evm> => {
  const isInVain = receipt.details.delegated?.includes(false) === true
  const usual = transaction.intent === "expire" ? "executed_late" : "confirmed"
  return finish({
    state: "confirmed",
    cause: cause(isInVain ? "authorization_without_effect" : usual, { block: receipt.height })
  })
}

const finishOf = (situation: Situation<Evm>, mined: Mined<Evm>): Finish<Evm> => {
  const attempt = situation.transaction.attempts.find(({ ordinal }) => ordinal === mined.ordinal)
  if (attempt !== undefined && isNoop(attempt)) return endOf(situation.transaction)
  return mined.receipt.isSuccess ? confirmed(situation, mined) : reverted(attempt, mined)
}

/** Whether a no-op was mined so that the request goes on without its nonce. */
const hasYielded = ({ transaction }: Situation<Evm>, { ordinal }: Mined<Evm>): boolean => {
  const attempt = transaction.attempts.find((one) => one.ordinal === ordinal)
  return attempt !== undefined && isNoop(attempt) && isYielding(transaction)
}

/** `alone`: one provider has decided, which the transaction keeps. What its authorizations have left is asked for once more if it is not known. */
const settled = (
  situation: Situation<Evm, Seen>,
  mined: Mined<Evm>,
  alone: { readonly confirmedBy?: 1 }
): Commands<Evm> => {
  if (hasYielded(situation, mined)) return [yielded(situation)]
  const { ordinal, receipt } = mined
  const attempt = situation.transaction.attempts.find((one) => one.ordinal === ordinal)
  const judged = attempt === undefined ? undefined : judgedByCode(situation, attempt, receipt)
  if (judged === "unknown") {
    return attempt !== undefined && situation.view.codeAt === undefined
      ? askCode(situation, attempt, receipt)
      : unjudged(situation, receipt.height)
  }
  if (attempt !== undefined && lacksDelegations(situation, attempt, receipt)) {
    return [ask<Evm>({ _tag: "Delegations", ordinal: attempt.ordinal, height: receipt.height })]
  }
  const known = { ...mined, receipt: withDelegated(receipt, situation.view) }
  const read = situation.view.delegated === undefined ? {} : { mined: known }
  return [{ ...(judged ?? finishOf(situation, known)), ...read, ...alone }]
}

/** The code while the block of its receipt is not final. */
const waitingCode = (situation: Situation<Evm>, mined: Mined<Evm>) => {
  if (hasYielded(situation, mined)) return "yielding"
  return situation.transaction.state === "mined" ? "mined_waiting" : "reverted_unconfirmed"
}

const waitingForDepth = (situation: Situation<Evm, Seen>, mined: Mined<Evm>): Cause => {
  const { transaction, view } = situation
  const code = waitingCode(situation, mined)
  const before = transaction.cause?.code
  const since = before === code ? transaction.causeSince : before === "chain_stalled" ? -Infinity : situation.now
  return stalledCause(situation, since) ?? cause(code, depthOf(view, mined.receipt.height))
}

export const decideMined = (situation: Situation<Evm, Seen>, mined: Mined<Evm>): Commands<Evm> => {
  const { height: block } = mined.receipt
  const state = receiptStateOf(situation, mined)
  switch (state._tag) {
    case "Gone":
      return reorged(situation, mined)
    case "Agreed":
      return settled(situation, mined, {})
    case "Alone":
      return settled(situation, mined, { confirmedBy: 1 })
    case "Outvoted":
      // The provider that is asked first from now on says whether and how it was mined.
      return [Command.Unmine({ cause: cause("providers_disagree", { block }) }), pollNext(situation)]
    case "Disputed":
      return hold(situation, cause("providers_disagree", { block, ...present("host", state.host) }))
    case "Missing":
      return hold(situation, cause("second_provider_missing", { block, ...state.figures }))
    case "Waiting":
      return hold(situation, waitingForDepth(situation, mined))
  }
}
