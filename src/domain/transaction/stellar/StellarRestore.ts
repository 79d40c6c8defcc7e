// Stellar transactions of a database that was put back from a copy: what an operator may answer, and when.
import { DateTime, Result } from "effect"
import { cause } from "../Cause.ts"
import { TransactionConflict } from "../Rules.ts"
import type { Answer, Command, Row } from "../Rules.ts"
import type { Lane, Transaction } from "../Transaction.ts"
import type { Moment } from "../TransactionValues.ts"
import { resolve as resolveAny } from "../Transition.ts"
import type { Stellar } from "./Stellar.ts"
import { momentOf } from "./Stellar.ts"
import { areEnough, askedOf, holdFor, ledgerOf } from "./StellarHolding.ts"
import { forgottenLife } from "./StellarNumbers.ts"

/**
 * It waits for an operator. Envelopes that the database has forgotten can be applied until the close time `until`. The figure
 * `close_time` appears when the providers whose view counts before a signature show a later ledger.
 */
export const restored: Row<Stellar> = (situation) => {
  const { now, transaction, view } = situation
  if (!transaction.restored) return undefined
  const figures = transaction.cause?.code === "restored_unproven" ? transaction.cause.figures : {}
  const waiting = cause("restored_unproven", figures)
  if (view._tag === "Unreachable" || figures.close_time !== undefined) return holdFor(situation, waiting)
  const asked = askedOf(view)
  const newest = ledgerOf(asked)
  if (newest === undefined || !areEnough(asked, view, now)) return holdFor(situation, waiting)
  const closed = momentOf(newest.closeTime)
  const until = figures.until ?? Math.max(now, closed) + forgottenLife
  return holdFor(
    situation,
    cause("restored_unproven", { ...figures, until, ...(closed > until ? { close_time: closed } : {}) })
  )
}

interface UsedSequences {
  readonly lane: Lane<Stellar>
  readonly usedBelow: bigint
}

const shownAt = (moment: Moment) => DateTime.formatIso(DateTime.makeUnsafe(moment))

const unread = "its account was not read since the restore; try again later"

/** Why a new envelope could be applied besides one that the database has forgotten. Undefined: it could not. */
const tooEarly = ({ cause: why, place, restored: isRestored }: Transaction<Stellar>): string | undefined => {
  if (!isRestored || place !== undefined) return undefined
  const { close_time, until } = why?.code === "restored_unproven" ? why.figures : {}
  if (until === undefined) return unread
  return close_time === undefined
    ? `an envelope that the database has forgotten can be applied until a ledger closes after ${shownAt(until)}; try again later`
    : undefined
}

/**
 * `usedBelow` is of the relayer's own account. That the sequence of a channel is used is what the cause of the row says: its providers have
 * shown it, and a closed ledger is final.
 */
const usedAt = ({ place }: Transaction<Stellar>, { lane, usedBelow }: UsedSequences): bigint =>
  place?.sequence === undefined || place.account === lane.accounts[0].address ? usedBelow : place.sequence + 1n

/** Every figure that decides is in the cause of the row. */
export const resolve = (
  transaction: Transaction<Stellar>,
  answer: Answer,
  known: UsedSequences
): Result.Result<Command<never>, TransactionConflict> => {
  const error = answer === "send" ? tooEarly(transaction) : undefined
  return error === undefined
    ? resolveAny(transaction, answer, usedAt(transaction, known))
    : Result.fail(new TransactionConflict({ error }))
}
