// Decisions about transactions without a nonce. None of their bytes can still be mined.
import { cause } from "./Cause.ts"
import { Command } from "./Command.ts"
import { decideFirstSignature } from "./DecideFirstSignature.ts"
import { maxNonce, predecessorGrace } from "./Numbers.ts"
import { endOf, firstOf, hold, holdUntil } from "./Situation.ts"
import type { Row, Situation } from "./Situation.ts"
import type { Commands } from "./Command.ts"
import type { View } from "./View.ts"

/** Neither a cancel nor a deadline ends it: it may have been executed by bytes that the ledger has forgotten. */
const restored: Row = (situation) =>
  situation.transaction.restored ? hold(situation, cause("restored_unproven")) : undefined

const notWanted: Row = ({ transaction }) => (transaction.intent === "execute" ? undefined : [endOf(transaction)])

const deadline: Row = ({ transaction, now }) =>
  now >= transaction.validUntil
    ? [Command.Finish({ state: "expired", cause: cause("deadline_passed", { until: transaction.validUntil }) })]
    : undefined

const policy: Row = ({ lane }) =>
  lane.terms.isAllowed ? undefined : [Command.Finish({ state: "failed", cause: cause("policy_changed") })]

const stopped: Row = (situation) =>
  situation.lane.stop === undefined ? undefined : hold(situation, situation.lane.stop, "lane")

const nonceOutOfRange: Row = (situation) => {
  const { nextNonce } = situation.lane.lane
  return nextNonce > maxNonce ? hold(situation, cause("nonce_out_of_range"), "lane") : undefined
}

const paused: Row = (situation) => {
  const { isPaused, disabled } = situation.lane.terms
  if (isPaused) return hold(situation, cause("relayer_paused"), "relayer")
  return disabled === undefined ? undefined : hold(situation, cause(disabled), "relayer")
}

const notBefore: Row = (situation) => {
  const { transaction, now } = situation
  const { notBefore } = transaction
  if (notBefore === undefined || now >= notBefore) return undefined
  return holdUntil(situation, cause("not_before", { until: notBefore }), "transaction", notBefore)
}

/**
 * Scripts send transactions with required nonces at once and in any order, so one that is too early waits for others and a
 * little longer. This comes before the estimate, which would fail without the predecessors.
 */
const requiredNonce: Row = (situation) => {
  const { transaction, lane, now } = situation
  const { requiredNonce, createdAt } = transaction
  const { nextNonce } = lane.lane
  if (requiredNonce === undefined || requiredNonce === nextNonce) return undefined
  const figures = { required_nonce: requiredNonce, next_nonce: nextNonce }
  const until = Math.max(createdAt, lane.others.lastSignedAt ?? createdAt) + predecessorGrace
  if (requiredNonce > nextNonce && (lane.others.isPendingBefore || now < until)) {
    const why = cause("waits_for_predecessors", figures)
    return now < until ? holdUntil(situation, why, "transaction", until) : hold(situation, why)
  }
  return [Command.Finish({ state: "failed", cause: cause("nonce_unavailable", figures) })]
}

const ofLedger: ReadonlyArray<Row> = [
  restored,
  notWanted,
  deadline,
  policy,
  stopped,
  nonceOutOfRange,
  paused,
  notBefore,
  requiredNonce
]

/** What follows needs the chain: prices, the balance and an estimate. */
const chain = (situation: Situation<View>): Commands => {
  const { view } = situation
  if (view._tag === "Seen") return decideFirstSignature({ ...situation, view })
  return holdUntil(situation, cause(view.code, { until: view.retryAt }), "lane", view.retryAt)
}

export const decidePending = firstOf(ofLedger, chain)
