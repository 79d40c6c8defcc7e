// How a transaction of the ledger changes: by commands, by restores, and with which events. Pure: the repository writes the result,
// guarded by the version.
import { Result } from "effect"
import type { resources } from "../../domain/access/Resources.ts"
import { cause } from "./Cause.ts"
import type { Cause, Code, Figures, KnownCode } from "./Cause.ts"
import type { Family } from "./Family.ts"
import { Command, finish, TransactionConflict } from "./Rules.ts"
import type { Answer, Cancellation, Finish, Heard, Rules } from "./Rules.ts"
import { isFinal } from "./Transaction.ts"
import type { Attempt, State, Transaction } from "./Transaction.ts"
import { isSamePlace } from "./TransactionValues.ts"
import type { Moment } from "./TransactionValues.ts"

/** A code keeps its moment while only its figures change. */
const withCause = <F extends Family>(transaction: Transaction<F>, cause: Cause, now: Moment): Transaction<F> => ({
  ...transaction,
  cause,
  causeSince: transaction.cause?.code === cause.code ? transaction.causeSince : now
})

const withoutMined = <F extends Family>(transaction: Transaction<F>): Transaction<F> => {
  const { mined: _, ...others } = transaction
  return others
}

const withoutPlace = <F extends Family>(transaction: Transaction<F>): Transaction<F> => {
  const { mined: _, place: _place, ...others } = transaction
  return others
}

/** At its next place the time until it falls back begins anew. While it is restored, its moment is when that was noticed. */
const routedAnew = <F extends Family>(transaction: Transaction<F>, restoredAt?: Moment): Transaction<F> => {
  const { route } = transaction
  if (route?.kind !== "private") return transaction
  const { since: _, ...others } = route
  return { ...transaction, route: restoredAt === undefined ? others : { ...others, since: restoredAt } }
}

/** The ledger may have forgotten attempts of it. */
export const asRestored = <F extends Family>(transaction: Transaction<F>, now: Moment): Transaction<F> => ({
  ...routedAnew(transaction, now),
  restored: true
})

/** What was to happen at its place is done. */
const asYielded = <F extends Family>(transaction: Transaction<F>, yields: number): Transaction<F> => {
  const { clearCode: _, clearPrice: _price, ...others } = transaction
  const { mined, paidBefore = 0n } = transaction
  return { ...others, intent: "execute", yields, paidBefore: paidBefore + (mined?.receipt.paid ?? 0n) }
}

/** How a transaction ends if a no-op, or another transaction, used its place, or if it never gets one. */
export const endOf = ({
  intent,
  clearCode = "gap_filled"
}: Pick<Transaction, "intent" | "clearCode">): Finish<never> => {
  if (intent === "cancel") return finish({ state: "canceled", cause: cause("canceled") })
  if (intent === "expire") return finish({ state: "expired", cause: cause("deadline_passed") })
  return finish({ state: "failed", cause: { code: clearCode, figures: {} } })
}

/** Commands that do not change the transaction leave it as it is. A signature is applied by `withAttempt`. */
export const apply = <F extends Family>(
  transaction: Transaction<F>,
  command: Command<F>,
  now: Moment
): Transaction<F> => {
  switch (command._tag) {
    case "Hold":
      return withCause(transaction, command.cause, now)
    case "Intend": {
      const { intent, clearCode, cause } = command
      const reason = clearCode === undefined ? {} : { clearCode }
      return withCause({ ...transaction, intent, ...reason }, cause, now)
    }
    case "Mine":
      return withCause({ ...transaction, state: command.state, mined: command.mined }, command.cause, now)
    case "Unmine":
      return withCause({ ...withoutMined(transaction), state: "submitted" }, command.cause, now)
    case "Price":
      return { ...transaction, clearPrice: command.clearPrice }
    case "Reroute":
      return { ...transaction, route: command.route }
    case "Release":
      return withCause({ ...transaction, restored: false }, command.cause, now)
    case "Requeue": {
      const { restored, requeues, yields, cause } = command
      const wanted = yields === undefined ? transaction : asYielded(transaction, yields)
      return withCause(
        { ...withoutPlace(routedAnew(wanted, restored ? now : undefined)), state: "pending", restored, requeues },
        cause,
        now
      )
    }
    case "Finish": {
      const { state, cause, mined, losesPlace, frees, confirmedBy } = command
      const isGivenUp = losesPlace === true || (frees !== undefined && mined === undefined)
      const ended = isGivenUp ? withoutPlace(transaction) : transaction
      const ending = {
        ...ended,
        state,
        ...(mined === undefined ? {} : { mined }),
        ...(confirmedBy === undefined ? {} : { confirmedBy })
      }
      return withCause(ending, cause, now)
    }
    default:
      return transaction
  }
}

/** After a caller has canceled it. */
export const withCancellation = <F extends Family>(
  transaction: Transaction<F>,
  cancellation: Cancellation,
  now: Moment
): Transaction<F> => {
  switch (cancellation._tag) {
    case "finish":
      return withCause({ ...transaction, state: "canceled" }, cause("canceled"), now)
    case "intend":
      return withCause({ ...transaction, intent: cancellation.intent }, cancellation.cause, now)
    case "unchanged":
      return transaction
  }
}

/** After a caller has made a private transaction public. Undefined: it is public already. */
export const asPublic = <F extends Family>(
  transaction: Transaction<F>,
  now: Moment
): Result.Result<Transaction<F> | undefined, TransactionConflict> => {
  const { route, state } = transaction
  if (route?.kind !== "private") return Result.succeed(undefined)
  return isFinal(transaction) || state === "mined"
    ? Result.fail(new TransactionConflict({ error: `is ${state}: only an open transaction can be made public` }))
    : Result.succeed({ ...transaction, route: { ...route, kind: "fell_back", since: now } })
}

/** After a signature was committed with its place. */
export const withAttempt = <F extends Family>(
  transaction: Transaction<F>,
  attempt: Attempt<F>,
  cause: Cause,
  now: Moment
): Transaction<F> => {
  const { place, generation } = attempt
  const state = transaction.state === "pending" ? "signed" : transaction.state
  const attempts = [...transaction.attempts, attempt]
  return withCause({ ...transaction, state, place, generation, attempts }, cause, now)
}

/** After the answers to a broadcast were recorded. Only from `signed` does an acceptance change the state. */
export const withSent = <F extends Family>(
  transaction: Transaction<F>,
  { attempt, isAccepted }: Pick<Heard<F>, "attempt" | "isAccepted">
): Transaction<F> => {
  const attempts = transaction.attempts.map((other) => (other.ordinal === attempt.ordinal ? attempt : other))
  if (!isAccepted || transaction.state !== "signed") return { ...transaction, attempts }
  const submitted: Transaction<F> = { ...transaction, attempts, state: "submitted" }
  return transaction.cause?.code === "sending"
    ? withCause(submitted, cause("in_pool", { sends: attempt.sends }), attempt.lastSentAt ?? attempt.signedAt)
    : submitted
}

// A ledger that was put back from a copy may have forgotten attempts and places. What could have been executed since is
// marked, and is not signed again before an operator decides.

/** Every open request, after the mark of the database has changed. */
const isMarked = (transaction: Transaction): boolean =>
  transaction.origin === "request" && !isFinal(transaction) && !transaction.restored

/** Those whose mark changes: the wait of a private one begins anew with each restore. */
export const isMarkedAnew = (transaction: Transaction): boolean =>
  isMarked(transaction) ||
  (transaction.origin === "request" && !isFinal(transaction) && transaction.route?.kind === "private")

/** The open requests that a foreign transaction of the account could be. This comes before a requeue. */
export const suspects = <F extends Family>(
  rules: Pick<Rules<F>, "couldBe">,
  transactions: ReadonlyArray<Transaction<F>>,
  foreign: F["foreign"]
): ReadonlyArray<Transaction<F>> =>
  transactions.filter((transaction) => isMarked(transaction) && rules.couldBe(transaction, foreign))

/** It waits for a decision of an operator. */
export const isUnproven = ({ state, restored, cause: why }: Transaction): boolean =>
  (restored && state === "pending") || why?.code === "nonce_taken_unproven" || why?.code === "effect_unproven"

const refused = (error: string) => Result.fail(new TransactionConflict({ error }))

/**
 * `usedBelow`: every provider that answers counts this many sequences of the account as used and final. Above it, the bytes of
 * a transaction can still be mined: whatever an operator says about them may turn out to be wrong.
 */
const isOpen = ({ place }: Transaction, usedBelow: bigint): boolean => (place?.sequence ?? -1n) >= usedBelow

/**
 * `send`: it was not executed, so it gets another place. `give_up`: it is not sent any more. With a place, what is mined there
 * decides how it ends.
 */
export const resolve = <F extends Family>(
  transaction: Transaction<F>,
  answer: Answer,
  usedBelow: bigint
): Result.Result<Command<never>, TransactionConflict> => {
  if (isFinal(transaction) || !isUnproven(transaction)) return refused("does not wait for a decision of an operator")
  const { place, requeues, restored } = transaction
  if (isOpen(transaction, usedBelow)) {
    return refused(`its nonce ${place?.sequence} is open: not every provider has it in a final block; try again later`)
  }
  if (answer === "send") {
    return Result.succeed(Command.Requeue({ restored: false, requeues, cause: cause("queued") }))
  }
  if (place === undefined) {
    const code = restored ? "restored_unproven" : "nonce_taken_unproven"
    return Result.succeed(finish({ state: "failed", cause: cause(code) }))
  }
  return Result.succeed(
    Command.Intend({
      intent: "clear",
      clearCode: "nonce_taken_unproven",
      cause: cause("nonce_taken_unproven", { answer: "give_up" })
    })
  )
}

/**
 * A test network began anew: bytes of the old generation stay valid there, so what has or had any is given up. Undefined:
 * nothing of it was ever signed, and it stays pending.
 */
export const onNewGeneration = <F extends Family>(transaction: Transaction<F>): Command<F> | undefined =>
  isFinal(transaction) || transaction.attempts.length === 0
    ? undefined
    : finish({ state: "failed", cause: cause("chain_changed") })

// Which events report a change of a transaction: one per transition, and one per new hash.

export type TransactionEventType = (typeof resources.transaction.eventTypes)[number]

const ofState: Readonly<Record<State, TransactionEventType | undefined>> = {
  pending: undefined,
  signed: "transaction.signed",
  submitted: "transaction.submitted",
  mined: "transaction.mined",
  confirmed: "transaction.confirmed",
  failed: "transaction.failed",
  canceled: "transaction.canceled",
  expired: "transaction.expired"
}

/** Codes that belong to the usual way of a transaction. All others say what it waits for: it is held. */
export const usualCodes = [
  "queued",
  "lane_window_full",
  "waits_for_predecessors",
  "waits_for_delegation",
  "sending",
  "in_pool",
  "mined_waiting"
] as const satisfies ReadonlyArray<KnownCode>

const usual: ReadonlySet<Code> = new Set<KnownCode>(usualCodes)

const isHeld = (before: Transaction, after: Transaction): boolean =>
  after.cause !== undefined && after.cause.code !== before.cause?.code && !usual.has(after.cause.code)

const isRerouted = (before: Transaction, after: Transaction): boolean =>
  before.route?.kind === "private" && after.route?.kind === "fell_back"

const isFirstSeenPublicly = (before: Transaction, after: Transaction): boolean =>
  before.route?.seenPublicly === undefined && after.route?.seenPublicly !== undefined

/** In their order. */
export const eventsOf = (before: Transaction, after: Transaction): ReadonlyArray<TransactionEventType> => {
  if (isFinal(before)) return []
  return [
    ...(isFirstSeenPublicly(before, after) ? (["transaction.seen_publicly"] as const) : []),
    ...(isRerouted(before, after) ? (["transaction.route_changed"] as const) : []),
    ...changesOf(before, after)
  ]
}

const changesOf = (before: Transaction, after: Transaction): ReadonlyArray<TransactionEventType> => {
  const replaced = after.attempts.slice(before.attempts.length).filter(({ kind }) => kind !== "original")
  const moved = after.state === before.state ? undefined : ofState[after.state]
  const events = replaced.map((): TransactionEventType => "transaction.replaced")
  if (before.state === "mined" && after.state === "submitted") return [...events, "transaction.reorged"]
  if (moved !== undefined) return [...events, moved]
  if (before.mined !== undefined && after.mined === undefined && after.place !== undefined) {
    return [...events, "transaction.reorged"]
  }
  return events.length === 0 && isHeld(before, after) ? ["transaction.held"] : events
}

/** Figures of these codes change with every block, and readers find the newest ones in the lane. */
const quiet: ReadonlySet<Code> = new Set<KnownCode>([
  "queued",
  "lane_window_full",
  "sending",
  "in_pool",
  "mined_waiting"
])

const areFiguresEqual = (one: Figures, other: Figures): boolean => {
  const entries = Object.entries(one)
  const others: Readonly<Record<string, unknown>> = other
  return entries.length === Object.keys(other).length && entries.every(([name, value]) => others[name] === value)
}

const isCauseEqual = (before: Transaction, after: Transaction): boolean => {
  if (after.cause === undefined || before.cause === undefined) return after.cause === before.cause
  if (after.cause.code !== before.cause.code) return false
  return quiet.has(after.cause.code) || areFiguresEqual(before.cause.figures, after.cause.figures)
}

/** Whether a command changed what the ledger stores, apart from figures that change with every block. */
export const isWorthWriting = (before: Transaction, after: Transaction): boolean =>
  !isCauseEqual(before, after) ||
  after.state !== before.state ||
  after.intent !== before.intent ||
  after.clearCode !== before.clearCode ||
  !isSamePlace(after.place, before.place) ||
  after.mined !== before.mined ||
  after.restored !== before.restored ||
  after.requeues !== before.requeues ||
  after.route !== before.route ||
  after.attempts !== before.attempts ||
  after.versions !== before.versions
