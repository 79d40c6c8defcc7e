// The state machine of evm transactions: what to do next about one transaction, from what the ledger knows and what one
// poll of the chain has seen. Pure and total; there is always at least one command.
import { decideInFlight, decideMined } from "./DecideInFlight.ts"
import { formerOf } from "./Replacements.ts"
import { hold, nextPoll, pollNext } from "./Holding.ts"
import { candidates, isDueUnseen } from "./Resend.ts"
import * as Market from "./Market.ts"
import { nonceOf, noncesOf, requiredNonceOf } from "./Evm.ts"
import type { Evm } from "./Evm.ts"
import { cause } from "../Cause.ts"
import * as Rows from "../Rows.ts"
import { holdUntil } from "../Rows.ts"
import { Command, finish, firstOf, isUnsettled } from "../Rules.ts"
import type { Commands, Row, Situation, Unreachable } from "../Rules.ts"
import { isFinal, isNoop } from "../Transaction.ts"
import { decideFirstSignature } from "./DecideFirstSignature.ts"
import { maxNonce, predecessorGrace } from "./EvmNumbers.ts"

const rows = Rows.make<Evm>(nextPoll)

const nonceOutOfRange: Row<Evm> = (situation) =>
  noncesOf(situation.lane).nextNonce > maxNonce ? hold(situation, cause("nonce_out_of_range"), "lane") : undefined

/**
 * Scripts send transactions with required nonces at once and in any order, so one that is too early waits for others and a
 * little longer. This comes before the estimate, which would fail without the predecessors.
 */
const requiredNonce: Row<Evm> = (situation) => {
  const { transaction, lane, rest, now } = situation
  const { createdAt } = transaction
  const required = requiredNonceOf(transaction)
  const { nextNonce } = noncesOf(lane)
  if (required === undefined || required === nextNonce) return undefined
  const figures = { required_nonce: required, next_nonce: nextNonce }
  const until = Math.max(createdAt, rest.lastSignedAt ?? createdAt) + predecessorGrace
  if (required > nextNonce && (rest.isPendingBefore || now < until)) {
    const why = cause("waits_for_predecessors", figures)
    return now < until ? Rows.holdUntil(situation, why, "transaction", until) : hold(situation, why)
  }
  return [finish({ state: "failed", cause: cause("nonce_unavailable", figures) })]
}

/** The ledger may be a copy from before its execution, and a node that lags may not show it yet. */
const unsettled: Row<Evm> = (situation) => {
  const { transaction, unsettledBefore } = situation
  if (unsettledBefore === undefined || !isUnsettled(transaction, unsettledBefore)) return undefined
  return hold(situation, cause("nonce_unexplained", { until: unsettledBefore }))
}

const ofLedger: ReadonlyArray<Row<Evm>> = [
  rows.restored,
  rows.notWanted,
  rows.deadline,
  rows.policy,
  rows.stopped,
  unsettled,
  nonceOutOfRange,
  rows.paused,
  rows.notBefore,
  requiredNonce
]

/** What follows needs the chain: prices, the balance and an estimate. */
const chain = (situation: Situation<Evm>): Commands<Evm> => {
  const { view } = situation
  if (view._tag === "Seen") return decideFirstSignature({ ...situation, view })
  const { code, figures, retryAt } = view
  return Rows.holdUntil(situation, cause(code, { ...figures, until: retryAt }), "providers", retryAt)
}

const decidePending = firstOf<Evm, Situation<Evm>["view"]>(ofLedger, chain)

/** Bytes of an older generation belong to a chain that is gone. */
const isOfOlderGeneration = ({ transaction, lane }: Situation<Evm>): boolean => {
  const { attempts, generation, place } = transaction
  return place === undefined
    ? attempts.some((attempt) => attempt.generation !== lane.generation)
    : generation !== lane.generation
}

/**
 * A final transaction stays final. After a reorganisation deeper than what counts as final its nonce is open again, and
 * its bytes are sent again: they are all that can close it.
 */
const decideFinal = (situation: Situation<Evm>): Commands<Evm> => {
  const { transaction, view, lane } = situation
  const { mined, generation } = transaction
  const nonce = nonceOf(transaction)
  if (nonce === undefined || view._tag !== "Seen" || view.count > nonce) return [Command.Rest()]
  if (generation !== lane.generation) return [Command.Rest()]
  const newest = formerOf(transaction)?.newest
  const ordinal = mined?.ordinal ?? (newest !== undefined && isNoop(newest) ? newest.ordinal : undefined)
  return ordinal === undefined ? [Command.Rest()] : [Command.Broadcast({ ordinals: [ordinal] }), pollNext(situation)]
}

/** Nothing that another chain says is believed, and nothing is sent to it. */
const isOnOtherChain = ({ stop, terms }: Situation<Evm>): boolean =>
  stop?.code === "chain_changed" || terms.disabled === "chain_changed"

/** The bytes are sent all the same: the providers of other relayers may take them. */
const sentUnseen = (situation: Situation<Evm>, { code, figures, retryAt }: Unreachable): Commands<Evm> => {
  const { transaction } = situation
  const held = holdUntil(situation, cause(code, { ...figures, until: retryAt }), "transaction", retryAt)
  const former = transaction.mined === undefined ? formerOf(transaction) : undefined
  return former !== undefined && isDueUnseen(situation, former.newest)
    ? [Command.Broadcast({ ordinals: candidates(former.attempts, former.newest) }), ...held]
    : held
}

const decideWithNonce = (situation: Situation<Evm>): Commands<Evm> => {
  const { transaction, view } = situation
  if (isOnOtherChain(situation)) return hold(situation, cause("chain_changed"))
  if (view._tag === "Unreachable") return sentUnseen(situation, view)
  const seen = { ...situation, view }
  return transaction.mined === undefined ? decideInFlight(seen) : decideMined(seen, transaction.mined)
}

const inItsMarket = (situation: Situation<Evm>): Situation<Evm> => {
  const { view, terms } = situation
  if (view._tag !== "Seen" || view.market === undefined) return situation
  return { ...situation, view: { ...view, market: Market.marketFor(view.market, terms) } }
}

export const decide = (given: Situation<Evm>): Commands<Evm> => {
  const situation = inItsMarket(given)
  const { transaction } = situation
  if (isFinal(transaction)) return decideFinal(situation)
  if (isOfOlderGeneration(situation)) return [finish({ state: "failed", cause: cause("chain_changed") })]
  return transaction.state === "pending" ? decidePending(situation) : decideWithNonce(situation)
}
