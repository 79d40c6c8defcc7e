// The state machine of stellar transactions: what to do next about one, from what the ledger knows and one look has seen of the chain.
// Pure and total; there is always at least one command.
import { DateTime, Result } from "effect"
import { cause } from "../../core/Cause.ts"
import { holdUntil, isOnOtherChain, neededOf } from "../../core/Rows.ts"
import { ask, Command, finish, firstOf, TransactionConflict } from "../../core/Rules.ts"
import type { Answer, Commands, Row, Scope, Situation } from "../../core/Rules.ts"
import { accountAt, isFinal, newestRequest } from "../../core/Transaction.ts"
import type { Lane, Transaction } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { resolve as resolveAny } from "../../core/Transition.ts"
import { decideInFlight, endedByDeadline, executedByOther, undecided } from "./DecideInFlight.ts"
import { decideSignature, leastBalance } from "./DecideSignature.ts"
import { areEnough, askedOf, hold, holdFor, ledgerOf, outcomeOf, rows, watchedOf } from "./Proving.ts"
import type { AskedProvider } from "./Proving.ts"
import { momentOf } from "./Stellar.ts"
import type { Stellar } from "./Stellar.ts"
import {
  forgottenLife,
  leastValidity,
  ledgerTime,
  maxClockDifference,
  maxGuests,
  predecessorGrace,
  publicSettings,
  unseenPatience
} from "./StellarNumbers.ts"
import type { StellarSeen } from "./StellarSeen.ts"
import { channelsFor, leftOf, placeOf } from "./StellarTerms.ts"
import { lastSequence } from "./StellarValues.ts"

// Stellar transactions of a database that was put back from a copy: what an operator may answer, and when.

/**
 * It waits for an operator. Envelopes that the database has forgotten can be applied until the close time `until`. The figure
 * `close_time` appears when the providers whose view counts before a signature show a later ledger.
 */
const restored: Row<Stellar> = (situation) => {
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

// Decisions about pending transactions: what the ledger, the clock and the account say before anything is prepared.

/** The view with the providers that count. */
interface AskedView extends StellarSeen {
  readonly asked: ReadonlyArray<AskedProvider>
}

type AskedSituation = Situation<Stellar, AskedView>

const clockFits: Row<Stellar, AskedView> = (situation) => {
  const { now, view } = situation
  const close_time = momentOf(ledgerOf(view.asked)?.closeTime ?? 0)
  if (Math.abs(now - close_time) <= momentOf(maxClockDifference)) return undefined
  const isStalled = now > close_time && now - view.newestSince > momentOf(maxClockDifference)
  return hold(situation, isStalled ? "ledger_stalled" : "clock_skew", { close_time, clock: now }, "providers")
}

const hasTimeLeft: Row<Stellar, AskedView> = (situation) => {
  const { transaction, view } = situation
  const { guest } = transaction.facts
  const until = guest === undefined ? transaction.validUntil : momentOf(guest.maxTime)
  const closeTime = momentOf(ledgerOf(view.asked)?.closeTime ?? 0)
  if (until - closeTime >= momentOf(leastValidity)) return undefined
  // What was signed before is dead.
  return hold(situation, "expiring", { until })
}

const payer: Row<Stellar, AskedView> = (situation) => {
  const entries = situation.view.asked.map((one) => one.payer)
  if (entries.every((entry) => entry === null)) {
    const minimum = leastBalance(situation.view.settings ?? publicSettings)
    return hold(situation, "no_account", { minimum }, "providers")
  }
  const isUnauthorized = entries.every(
    (entry) => entry !== undefined && entry !== null && entry.masterWeight < Math.max(1, entry.mediumThreshold)
  )
  return isUnauthorized ? hold(situation, "signer_unauthorized", {}, "providers") : undefined
}

/** The account of the relayer can never send again. It can still pay for envelopes of others. */
const exhausted: Row<Stellar, AskedView> = (situation) => {
  const { transaction, view } = situation
  const isAtEnd = view.asked.every(({ account: { sequence } }) => sequence !== undefined && sequence >= lastSequence)
  return isAtEnd && transaction.facts.guest === undefined
    ? hold(situation, "sequence_exhausted", { sequence: lastSequence })
    : undefined
}

const required: Row<Stellar, AskedView> = (situation) => {
  const { lane, now, rest, transaction } = situation
  const { createdAt, requiredSequence } = transaction
  const [{ nextSequence }] = lane.accounts
  if (requiredSequence === undefined || requiredSequence === nextSequence) return undefined
  const figures = { required_sequence: requiredSequence, sequence: nextSequence }
  const until = Math.max(createdAt, rest.lastSignedAt ?? createdAt) + predecessorGrace
  if (requiredSequence > nextSequence && (rest.isPendingBefore || rest.inFlight > 0 || now < until)) {
    const why = cause("waits_for_predecessors", figures)
    return now < until
      ? holdUntil(situation, why, "transaction", until)
      : hold(situation, "waits_for_predecessors", figures)
  }
  return [finish({ state: "failed", cause: cause("nonce_unavailable", figures) })]
}

/**
 * What else waits. While a transaction of the relayer waits for a place, envelopes of guests go on, because they need no place.
 * While work on channels waits for the place of the relayer's own account, transactions that may use a channel go on.
 */
const scopeOf = ({ rest, transaction }: AskedSituation): Scope =>
  rest.survey.hasPendingGuests || newestRequest(transaction).channels !== undefined ? "transaction" : "relayer"

/** Cancels work on channels that is already done. A channel ends only after no transaction uses it any more. */
const channelWork: Row<Stellar, AskedView> = (situation) => {
  const { lane, rest, transaction } = situation
  const work = newestRequest(transaction).channels
  if (work === undefined) return undefined
  const { addresses } = leftOf(work, lane)
  if (addresses.length === 0) return [finish({ state: "canceled", cause: cause("canceled") })]
  return addresses.some((address) => rest.survey.taken.has(address))
    ? hold(situation, "waits_for_predecessors")
    : undefined
}

/** A signature that a caller got may be applied at the next sequence of the own account, until a ledger closes after it. */
const givenFirst: Row<Stellar, AskedView> = (situation) => {
  const { lane, terms, transaction, view } = situation
  const [{ address, nextSequence }] = lane.accounts
  if (view.given === undefined || placeOf(lane, transaction, terms)?.account !== address) return undefined
  const closeTime = ledgerOf(view.asked)?.closeTime ?? 0
  const given = view.given.find(({ maxTime, sequence }) => sequence === nextSequence && closeTime <= maxTime)
  return given === undefined
    ? undefined
    : hold(situation, "lane_window_full", { hash: given.hash, until: momentOf(given.maxTime) }, scopeOf(situation))
}

const room: Row<Stellar, AskedView> = (situation) => {
  const { lane, rest, terms, transaction } = situation
  const { guests, taken } = rest.survey
  if (transaction.facts.guest !== undefined) {
    return guests < maxGuests
      ? undefined
      : hold(situation, "lane_window_full", { in_flight: guests, window: maxGuests }, scopeOf(situation))
  }
  if (placeOf(lane, transaction, terms) !== undefined) return undefined
  const oldest = Math.min(...taken.values())
  const figures = {
    in_flight: taken.size,
    window: Math.max(1, channelsFor(lane, transaction, terms).length),
    ...(Number.isFinite(oldest) ? { until: momentOf(oldest) } : {})
  }
  return hold(situation, "lane_window_full", figures, scopeOf(situation))
}

const shownBy = ({ asked }: AskedView): ReadonlyArray<bigint> => asked.map(({ account }) => account.sequence ?? 0n)

/** The guest has used the sequence, with this envelope or with another one. */
const usedByGuest: Row<Stellar, AskedView> = (situation) => {
  const { now, terms, transaction, view } = situation
  const { guest } = transaction.facts
  if (guest === undefined || shownBy(view).some((one) => one < guest.sequence)) return undefined
  const { sequence } = guest
  if (view.asked.length < neededOf(view)) return hold(situation, "second_provider_missing")
  if (view.isProofAsked !== true) return [ask<Stellar>("proof")]
  const outcome = outcomeOf(view, {
    sequence,
    watched: watchedOf(transaction),
    finalityByOne: terms.finalityByOne,
    transaction,
    now
  })
  const unseen = hold(situation, "landing_unproven", { sequence })
  if (outcome._tag !== "Decided") return undecided(situation, outcome) ?? unseen
  const { isByOne, proof } = outcome
  const by = isByOne ? { confirmedBy: 1 as const } : {}
  if (proof.kind === "applied") return [{ ...executedByOther(proof.applied), ...by }]
  if (proof.kind !== "taken") return unseen
  const why = cause("sequence_used", { sequence, hash: proof.foreign })
  return [{ ...finish<Stellar>({ state: "failed", cause: why }), ...by }]
}

/** Only the next sequence of a guest is paid for: another one would only cost a place in the queue. */
const guestTurn: Row<Stellar, AskedView> = (situation) => {
  const { transaction, view } = situation
  const { guest } = transaction.facts
  if (guest === undefined) return undefined
  const shown = shownBy(view)
  if (shown.every((one) => one === guest.sequence - 1n)) return undefined
  if (shown.every((one) => one < guest.sequence)) {
    return hold(situation, "waits_for_predecessors", { required_sequence: guest.sequence })
  }
  const ledgers = view.asked.map(({ account }) => account.ledger.number)
  return hold(situation, "second_provider_behind", {
    ledger: Math.max(...ledgers),
    other_ledger: Math.min(...ledgers)
  })
}

const sign = (situation: AskedSituation): Commands<Stellar> => {
  const { lane, terms, transaction, view } = situation
  const { guest } = transaction.facts
  const place = placeOf(lane, transaction, terms)
  const isChannel = place !== undefined && accountAt(lane, place.account) !== lane.accounts[0]
  const form = guest !== undefined ? "guest" : isChannel ? "channel" : "own"
  return decideSignature(situation, { kind: "original", form, asked: view.asked })
}

const withChain = firstOf<Stellar, AskedView>(
  [usedByGuest, clockFits, hasTimeLeft, payer, exhausted, channelWork, required, givenFirst, room, guestTurn],
  sign
)

/**
 * Nothing was sent for an envelope of a guest, but its user may have sent it. No deadline ends it while its sequence is used by a
 * transaction that the providers may still show.
 */
const deadline: Row<Stellar> = (situation) => {
  const { now, transaction } = situation
  const { attempts, cause: why, facts, validUntil } = transaction
  const { guest } = facts
  if (guest === undefined || attempts.length > 0) {
    return now >= validUntil ? [endedByDeadline(transaction)] : undefined
  }
  const until = why?.code === "landing_unproven" ? validUntil + unseenPatience : validUntil
  if (now < until) return undefined
  return [
    finish({ state: "expired", cause: cause("deadline_passed", { until: validUntil, sequence: guest.sequence }) })
  ]
}

const ofLedger = [
  restored,
  rows.notWanted,
  deadline,
  rows.policy,
  rows.stopped,
  rows.paused,
  rows.notBefore,
  rows.signer
]

const decidePending: (situation: Situation<Stellar>) => Commands<Stellar> = firstOf<
  Stellar,
  Situation<Stellar>["view"]
>(ofLedger, (situation) => {
  const { view } = situation
  if (view._tag === "Unreachable") {
    return holdUntil(situation, cause(view.code, { ...view.figures, until: view.retryAt }), "providers", view.retryAt)
  }
  const asked = askedOf(view)
  return !areEnough(asked, view, situation.now)
    ? hold(situation, stalledCode(situation, view), {}, "providers")
    : withChain({ ...situation, view: { ...view, asked } })
})

/** All providers answer, and none of their ledgers moves. */
const stalledCode = ({ now }: Situation<Stellar>, view: StellarSeen) =>
  view.looks.some(({ newest }) => newest !== undefined) && now - view.newestSince > ledgerTime
    ? ("ledger_stalled" as const)
    : ("providers_unavailable" as const)

export const decide = (situation: Situation<Stellar>): Commands<Stellar> => {
  const { transaction, view } = situation
  if (isFinal(transaction)) return [Command.Rest()]
  if (isOnOtherChain(situation)) return hold(situation, "chain_changed", {}, "relayer")
  if (transaction.state === "pending") return decidePending(situation)
  if (view._tag === "Unreachable") {
    return holdUntil(situation, cause(view.code, { ...view.figures, until: view.retryAt }), "transaction", view.retryAt)
  }
  return decideInFlight({ ...situation, view })
}
