// Decisions about a transaction whose nonce the chain has passed without a receipt of one of its attempts.
import { cause } from "./Cause.ts"
import type { Cause } from "./Cause.ts"
import { Command } from "./Command.ts"
import type { Commands } from "./Command.ts"
import { maxRequeues } from "./Numbers.ts"
import { endOf, hold, pollNext } from "./Situation.ts"
import type { Row, Situation } from "./Situation.ts"
import { couldBe, verdictOf } from "./Taker.ts"
import type { Effect } from "./Taker.ts"
import { depthOf } from "./View.ts"
import type { Seen } from "./View.ts"

interface Taken {
  readonly hash?: string
  readonly effect?: Effect
}

/**
 * The nonce is proven lost, so all bytes of the transaction are dead. A request gets a new nonce, unless the ledger may
 * have forgotten an attempt of it: then the transaction that used the nonce could be this one, and an operator decides.
 * What ends here keeps no nonce: if a deep reorganisation opens it again, only a no-op of the lane may use it.
 */
const lost = ({ transaction }: Situation, { hash, effect }: Taken): Command => {
  const { restored, intent, requeues, requiredNonce, nonce } = transaction
  const figures = { ...(hash === undefined ? {} : { hash }), ...(nonce === undefined ? {} : { nonce }) }
  if (restored || couldBe(transaction, effect)) {
    return Command.Requeue({ restored: true, requeues, cause: cause("restored_unproven", figures) })
  }
  if (intent !== "execute") return { ...endOf(transaction), losesNonce: true }
  const failed = (why: Cause) => Command.Finish({ state: "failed", cause: why, losesNonce: true })
  if (requiredNonce !== undefined) {
    return failed(cause("nonce_unavailable", { ...figures, required_nonce: requiredNonce }))
  }
  return requeues >= maxRequeues
    ? failed(cause("nonce_taken_too_often", figures))
    : Command.Requeue({ restored: false, requeues: requeues + 1, cause: cause("nonce_taken", figures) })
}

const prove = (situation: Situation<Seen>, nonce: number): Commands => {
  const { transaction, lane, view } = situation
  if (view.countAtFinal !== undefined && view.countAtFinal <= nonce) return [pollNext(situation)]
  if (view.taker === undefined) return [Command.FindTaker({ nonce }), pollNext(situation)]
  const verdict = verdictOf(transaction, lane.lane.address, view)
  switch (verdict._tag) {
    case "Own":
      return hold(situation, cause("mined_waiting", depthOf(view, verdict.block)))
    case "NotDeep":
      return [pollNext(situation)]
    case "Unproven":
      return hold(situation, cause("nonce_taken_unproven", { nonce, count: view.count }))
    case "Taken":
      return [lost(situation, verdict), Command.PollAt({ at: situation.now })]
  }
}

/** `count` is what this view says, never what the ledger remembers: the ledger may know of a block that is gone. */
export const decideTaken: Row<Seen> = (situation) => {
  const { transaction, view } = situation
  const { nonce, origin } = transaction
  if (nonce === undefined || view.count <= nonce) return undefined
  if (origin === "request") return prove(situation, nonce)
  // Whatever used the nonce of a gap, the gap is gone.
  const isGone = view.countAtFinal !== undefined && view.countAtFinal > nonce
  return [isGone ? endOf(transaction) : pollNext(situation)]
}
