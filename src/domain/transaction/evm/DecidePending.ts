// Decisions about transactions without a nonce. None of their bytes can still be mined.
import { cause } from "../Cause.ts"
import { finish } from "../Command.ts"
import type { Commands } from "../Command.ts"
import * as Rows from "../Rows.ts"
import { firstOf } from "../Situation.ts"
import type { Row, Situation } from "../Situation.ts"
import { decideFirstSignature } from "./DecideFirstSignature.ts"
import { noncesOf, requiredNonceOf } from "./Evm.ts"
import type { Evm } from "./Evm.ts"
import { maxNonce, predecessorGrace } from "./EvmNumbers.ts"
import { hold, nextPoll } from "./Holding.ts"

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

const ofLedger: ReadonlyArray<Row<Evm>> = [
  rows.restored,
  rows.notWanted,
  rows.deadline,
  rows.policy,
  rows.stopped,
  nonceOutOfRange,
  rows.paused,
  rows.notBefore,
  requiredNonce
]

/** What follows needs the chain: prices, the balance and an estimate. */
const chain = (situation: Situation<Evm>): Commands<Evm> => {
  const { view } = situation
  if (view._tag === "Seen") return decideFirstSignature({ ...situation, view })
  return Rows.holdUntil(situation, cause(view.code, { until: view.retryAt }), "lane", view.retryAt)
}

export const decidePending = firstOf<Evm, Situation<Evm>["view"]>(ofLedger, chain)
