// Decisions about a transaction whose nonce the chain has passed without a receipt of one of its attempts.
import { stalledAfter } from "../../chain/Rpc.ts"
import { noncesOf, nonceOf, requiredNonceOf } from "./Evm.ts"
import type { Evm } from "./Evm.ts"
import { indexPatience } from "./EvmNumbers.ts"
import { hold, pollNext } from "./Holding.ts"
import { cause } from "../Cause.ts"
import type { Cause } from "../Cause.ts"
import { ask, Command, finish, isUnsettled } from "../Rules.ts"
import type { Commands, Row, Situation } from "../Rules.ts"
import { isYielding } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"
import { maxRequeues } from "../TransactionValues.ts"
import type { Moment } from "../TransactionValues.ts"
import { endOf } from "../Transition.ts"
import { couldBe, verdictOf } from "./ForeignTransaction.ts"
import { depthOf } from "./View.ts"
import type { ForeignCall, Seen } from "./View.ts"

interface Taken {
  readonly hash?: string
  readonly call?: ForeignCall
}

/** An operator does not wait for the proof, after every provider had the nonce in a final block. */
const isGivenUp = ({ intent, clearCode }: Transaction<Evm>): boolean =>
  intent === "clear" && clearCode === "nonce_taken_unproven"

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
  const verdict = verdictOf(transaction, noncesOf(lane).address, view, situation.now)
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
export const decideTaken: Row<Evm, Seen> = (situation) => {
  const { transaction, view } = situation
  const { origin } = transaction
  const nonce = nonceOf(transaction)
  if (nonce === undefined || view.count <= nonce) return undefined
  if (origin === "request") return prove(situation, nonce)
  // Whatever used the nonce of a gap, the gap is gone.
  const isGone = view.countAtFinal !== undefined && view.countAtFinal > nonce
  return [isGone ? endOf(transaction) : pollNext(situation)]
}
