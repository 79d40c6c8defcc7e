// Decisions about pending transactions that are the same for all networks: nothing of the chain is needed for them.
import { cause } from "./Cause.ts"
import { Command, finish } from "./Command.ts"
import type { Commands, Scope } from "./Command.ts"
import type { Cause } from "./Cause.ts"
import type { Family } from "./Family.ts"
import { earliest } from "./Moment.ts"
import type { Moment } from "./Moment.ts"
import { maxWaitForFunds } from "./Numbers.ts"
import type { Row, Situation } from "./Situation.ts"
import type { Transaction } from "./Transaction.ts"
import { endOf } from "./Transition.ts"

/** The state stays, with a code, until a moment and no longer than until the deadline. */
export const holdUntil = <F extends Family, V>(
  { transaction, now }: Pick<Situation<F, V>, "transaction" | "now">,
  why: Cause,
  scope: Scope,
  until: Moment
): Commands<F> => [
  Command.Hold({ cause: why, scope }),
  Command.PollAt({ at: transaction.validUntil > now ? earliest(until, transaction.validUntil) : until })
]

/**
 * When a transaction without funds fails. The wait begins when nothing of the lane is in flight: until then the missing part may
 * only be reserved. Undefined: it waits.
 */
export const fundsDeadline = <F extends Family, V>(
  { transaction, rest, now }: Pick<Situation<F, V>, "transaction" | "rest" | "now">,
  waits: boolean
): Moment | undefined => {
  const { quietSince } = rest
  if (waits || quietSince === undefined) return undefined
  const since = transaction.cause?.code === "insufficient_funds" ? transaction.causeSince : now
  return Math.max(since, quietSince) + maxWaitForFunds
}

/** What is known of the transaction that may have executed it stays shown. */
const restoredCause = ({ cause: why }: Transaction): Cause =>
  why?.code === "restored_unproven" ? why : cause("restored_unproven")

/** `nextPoll`: when the network is asked again. */
export const make = <F extends Family>(nextPoll: (situation: Situation<F>) => Moment) => {
  const hold = (situation: Situation<F>, why: Cause, scope: Scope = "transaction"): Commands<F> => [
    Command.Hold({ cause: why, scope }),
    Command.PollAt({ at: nextPoll(situation) })
  ]

  /** Neither a cancel nor a deadline ends it: it may have been executed by bytes that the ledger has forgotten. */
  const restored: Row<F> = (situation) =>
    situation.transaction.restored ? hold(situation, restoredCause(situation.transaction)) : undefined

  const notWanted: Row<F> = ({ transaction }) => (transaction.intent === "execute" ? undefined : [endOf(transaction)])

  const deadline: Row<F> = ({ transaction, now }) =>
    now >= transaction.validUntil
      ? [finish({ state: "expired", cause: cause("deadline_passed", { until: transaction.validUntil }) })]
      : undefined

  const policy: Row<F> = ({ terms }) =>
    terms.isAllowed ? undefined : [finish({ state: "failed", cause: cause("policy_changed") })]

  const stopped: Row<F> = (situation) => {
    const { stop, ownStop } = situation
    if (stop !== undefined) return hold(situation, stop, "lane")
    return ownStop === undefined ? undefined : hold(situation, ownStop, "providers")
  }

  const paused: Row<F> = (situation) => {
    const { isPaused, disabled } = situation.terms
    if (isPaused) return hold(situation, cause("relayer_paused"), "relayer")
    return disabled === undefined ? undefined : hold(situation, cause(disabled), "relayer")
  }

  const notBefore: Row<F> = (situation) => {
    const { transaction, now } = situation
    const { notBefore } = transaction
    if (notBefore === undefined || now >= notBefore) return undefined
    return holdUntil(situation, cause("not_before", { until: notBefore }), "transaction", notBefore)
  }

  const signer: Row<F> = (situation) => {
    const { signerRetry } = situation
    if (signerRetry === undefined) return undefined
    const { code, at } = signerRetry
    return holdUntil(situation, cause(code, { until: at }), "lane", at)
  }

  const windowFull: Row<F> = (situation) => {
    const { lane, rest } = situation
    if (rest.inFlight < lane.windowSize) return undefined
    return hold(situation, cause("lane_window_full", { window: lane.windowSize, in_flight: rest.inFlight }), "lane")
  }

  return { restored, notWanted, deadline, policy, stopped, paused, notBefore, signer, windowFull }
}
