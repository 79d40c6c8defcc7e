// The state machine of evm transactions: what to do next about one transaction, from what the ledger knows and what one
// poll of the chain has seen. Pure and total; there is always at least one command.
import { cause } from "./Cause.ts"
import { Command } from "./Command.ts"
import type { Commands } from "./Command.ts"
import { decideInFlight } from "./DecideInFlight.ts"
import { decideMined } from "./DecideMined.ts"
import { decidePending } from "./DecidePending.ts"
import type { LaneSituation } from "./Lane.ts"
import type { Moment } from "./Moment.ts"
import { formerOf } from "./Replacements.ts"
import { hold, holdUntil, pollNext } from "./Situation.ts"
import type { Situation } from "./Situation.ts"
import { isNoop } from "./Attempt.ts"
import { isFinal } from "./Transaction.ts"
import type { Transaction } from "./Transaction.ts"
import type { View } from "./View.ts"

/** Bytes of an older generation belong to a chain that is gone. */
const isOfOlderGeneration = ({ attempts, generation, nonce }: Transaction, { lane }: LaneSituation): boolean =>
  nonce === undefined
    ? attempts.some((attempt) => attempt.generation !== lane.generation)
    : generation !== lane.generation

/**
 * A final transaction stays final. After a reorganisation deeper than what counts as final its nonce is open again, and
 * its bytes are sent again: they are all that can close it.
 */
const decideFinal = (situation: Situation): Commands => {
  const { transaction, view, lane } = situation
  const { nonce, mined, generation } = transaction
  if (nonce === undefined || view._tag !== "Seen" || view.count > nonce) return [Command.Rest()]
  if (generation !== lane.lane.generation) return [Command.Rest()]
  const newest = formerOf(transaction)?.newest
  const ordinal = mined?.ordinal ?? (newest !== undefined && isNoop(newest) ? newest.ordinal : undefined)
  return ordinal === undefined ? [Command.Rest()] : [Command.Broadcast({ ordinals: [ordinal] }), pollNext(situation)]
}

/** Nothing that another chain says is believed, and nothing is sent to it. */
const isOnOtherChain = ({ stop, terms }: LaneSituation): boolean =>
  stop?.code === "chain_changed" || terms.disabled === "chain_changed"

const decideWithNonce = (situation: Situation): Commands => {
  const { transaction, lane, view } = situation
  if (isOnOtherChain(lane)) return hold(situation, cause("chain_changed"))
  if (view._tag === "Unreachable") {
    return holdUntil(situation, cause(view.code, { until: view.retryAt }), "transaction", view.retryAt)
  }
  const seen = { ...situation, view }
  return transaction.mined === undefined ? decideInFlight(seen) : decideMined(seen, transaction.mined)
}

export const decide = (transaction: Transaction, lane: LaneSituation, view: View, now: Moment): Commands => {
  const situation = { transaction, lane, view, now }
  if (isFinal(transaction)) return decideFinal(situation)
  if (isOfOlderGeneration(transaction, lane)) {
    return [Command.Finish({ state: "failed", cause: cause("chain_changed") })]
  }
  return transaction.state === "pending" ? decidePending(situation) : decideWithNonce(situation)
}
