// Decisions about transactions that have envelopes: a proof about all envelopes of the place ends one or moves it on.
// Without a proof, they are sent again, or get a new envelope at the same place, until they expire.
import { cause } from "../../core/Cause.ts"
import type { Figures, KnownCode } from "../../core/Cause.ts"
import { present } from "../../core/Presentation.ts"
import { ask, Command, finish, firstOf } from "../../core/Rules.ts"
import type { Commands, Finish, Freed, Row, Situation } from "../../core/Rules.ts"
import { currentAttempts } from "../../core/Transaction.ts"
import type { Attempt, Mined, Transaction } from "../../core/Transaction.ts"
import { maxRequeues } from "../../core/TransactionValues.ts"
import { endOf } from "../../core/Transition.ts"
import { decideSignature, fundsFor } from "./DecideSignature.ts"
import { areEnough, askedOf, hold, ledgerOf, outcomeOf, pollNext, sequenceOf, watchedOf } from "./Proving.ts"
import type { Outcome } from "./Proving.ts"
import { momentOf } from "./Stellar.ts"
import type { Stellar } from "./Stellar.ts"
import {
  leastValidity,
  ledgerClock,
  maxAttempts,
  maxClockDifference,
  noRoomForPaidCalls,
  publicSettings,
  sendAgainAfter,
  takesPaidCalls
} from "./StellarNumbers.ts"
import { againAfterUnknown, isSendable } from "./StellarSeen.ts"
import type { AccountAt, Applied, StellarSeen } from "./StellarSeen.ts"
import { maxInt64 } from "./StellarValues.ts"

// Decisions about envelopes that can still be applied: they are sent again, or get a new envelope at the same place, until they expire.

interface Sending extends StellarSeen {
  readonly newest: Attempt<Stellar>
  /** Unix seconds: the lowest close time that is known. */
  readonly closeTime: number
}

/** A new envelope at the same place is always safe: the network applies one of them at most. */
const refresh: Row<Stellar, Sending> = (situation) => {
  const { transaction, view, terms } = situation
  const { facts, intent, restored, validUntil, place } = transaction
  const { closeTime, newest } = view
  const { refusal } = newest
  const isGuest = facts.guest !== undefined
  const isDue = refusal?.class === "fee" || (refusal?.class === "resources" && !isGuest)
  const isOver = currentAttempts(transaction).length >= maxAttempts
  if (!isDue || isOver || intent !== "execute" || restored) return undefined
  const until = isGuest ? momentOf(newest.offer.maxTime) : validUntil
  if (until - momentOf(closeTime) < momentOf(leastValidity)) return undefined
  const asked = askedOf(view)
  const canSign = situation.signerRetry === undefined && !terms.isPaused && terms.isAllowed
  if (!canSign || !areEnough(asked, view, situation.now)) return undefined
  const isOwn = place?.account === situation.lane.accounts[0].address
  const form = isGuest ? "guest" : isOwn ? "own" : "channel"
  const commands = decideSignature(situation, { kind: kindOf(transaction.versions.length, newest), form, asked })
  // Its bytes are out: a refusal only prevents another envelope.
  return commands[0]._tag === "Finish" ? undefined : commands
}

const kindOf = (versions: number, { requestVersion }: Attempt<Stellar>) =>
  versions > requestVersion ? ("replace" as const) : ("refresh" as const)

/** When the same bytes are sent again. */
const dueAt = ({ lastSentAt, outcome, refusal, sends }: Attempt<Stellar>): number => {
  if (lastSentAt === undefined) return 0
  if (outcome === "accepted") return lastSentAt + sendAgainAfter.accepted
  return refusal === undefined ? againAfterUnknown(lastSentAt, sends) : lastSentAt + sendAgainAfter.refused
}

/** The clock stands for the close times that follow, if no ledger is seen. */
const isStillTaken = ({ now, view }: Situation<Stellar, Sending>): boolean => {
  const { closeTime, newest } = view
  const isInTime = isSendable(BigInt(newest.offer.maxTime), ledgerClock(closeTime, view, now))
  return isInTime && now < momentOf(newest.offer.maxTime + maxClockDifference)
}

const isAboveCap = ({ terms: { cap, feeLimit }, view }: Situation<Stellar, Sending>): boolean => {
  const { needed = 0n } = view.newest.refusal ?? {}
  return needed > cap || (feeLimit !== undefined && needed > feeLimit)
}

const codeOf = (situation: Situation<Stellar, Sending>) => {
  const { newest } = situation.view
  if (situation.transaction.intent === "cancel") return "canceling"
  if (newest.outcome === "accepted") return "in_queue"
  switch (newest.refusal?.class) {
    case undefined:
      return "sending"
    case "funds":
      return "insufficient_funds"
    case "fee":
      return isAboveCap(situation) ? "fee_above_cap" : "try_again_later"
    case "permanent":
      return "awaiting_expiry"
    default:
      return "try_again_later"
  }
}

/** Another account than its source pays for the call, and the ledgers of the network have no room for such a call. */
const isNeverTaken = ({ lane, transaction, view }: Situation<Stellar, Sending>): boolean => {
  const { facts, place } = transaction
  const isPaid = facts.guest !== undefined || place?.account !== lane.accounts[0].address
  const isCall = view.newest.offer.resourceFee !== undefined
  return isPaid && isCall && !takesPaidCalls(view.settings ?? publicSettings)
}

const figuresOf = (situation: Situation<Stellar, Sending>, code: ReturnType<typeof codeOf>): Figures => {
  const { rest, terms, view } = situation
  const { newest } = view
  const { needed, result, times } = newest.refusal ?? {}
  const until = momentOf(newest.offer.maxTime)
  const refused = present("error", result)
  switch (code) {
    case "try_again_later":
      return { until, times: times ?? 1, ...refused, ...present("fee", needed) }
    case "fee_above_cap":
      return { until, cap: terms.cap, ...refused, ...present("fee", needed) }
    case "insufficient_funds": {
      const payers = view.looks.flatMap(({ payer }) => payer ?? [])
      const need = {
        required: newest.offer.fee + newest.offer.out,
        reserved: rest.reserved,
        minBalance: terms.minBalance
      }
      return { ...refused, ...(payers.length === 0 ? {} : fundsFor(payers, need, view.settings ?? publicSettings)) }
    }
    case "awaiting_expiry":
      return { until, ...refused }
    case "in_queue":
      return { until, sends: newest.sends, ...(isNeverTaken(situation) ? { error: noRoomForPaidCalls } : {}) }
    default:
      return { until, sends: newest.sends }
  }
}

/** Nothing is sent any more: its envelopes are alive until a ledger closes after them. */
const expiring = (situation: Situation<Stellar, Sending>): Commands<Stellar> => {
  const { now, transaction, view } = situation
  const until = momentOf(view.newest.offer.maxTime)
  const close_time = momentOf(view.closeTime)
  if (now - view.newestSince > momentOf(maxClockDifference)) {
    return hold(situation, "ledger_stalled", { close_time, until })
  }
  if (transaction.intent === "cancel") return hold(situation, "canceling", { until })
  return hold(situation, "awaiting_expiry", { until, ...present("error", view.newest.refusal?.result) })
}

const wait = (situation: Situation<Stellar, Sending>): Commands<Stellar> => {
  const { now, view } = situation
  const { newest } = view
  if (!isStillTaken(situation)) return expiring(situation)
  const code = codeOf(situation)
  const held = hold(situation, code, figuresOf(situation, code))
  if (now < dueAt(newest) || newest.refusal?.class === "permanent") return held
  return [...held, Command.Broadcast({ ordinals: [newest.ordinal] })]
}

const decideAlive = firstOf<Stellar, Sending>([refresh], wait)

// How transactions end whose envelope was applied: the receipt, and the code.

/** `ordinal`: absent if somebody else paid, and no attempt is in the ledger. */
const minedOf = ({ fee, hash, ledger, isSuccess, ...found }: Applied, ordinal: number | undefined): Mined<Stellar> => ({
  ...present("ordinal", ordinal),
  receipt: {
    height: ledger,
    isSuccess,
    paid: ordinal === undefined ? 0n : fee,
    details: { result: found.result, resultCode: found.code, operationResults: found.operations, hash }
  }
})

/** The first result of an operation that is no success. */
const failedOperation = ({ operations }: Applied): string | undefined => {
  const index = operations.findIndex((name) => !name.endsWith("Success"))
  return index === -1 ? undefined : `${index + 1} ${operations[index]}`
}

const failed = (applied: Applied, ordinal?: number): Finish<Stellar> => {
  const operation = failedOperation(applied)
  const error = operation === undefined ? applied.code : `${applied.code}, operation ${operation}`
  const figures = { ledger: applied.ledger, error }
  return finish({ state: "failed", cause: cause("operation_failed", figures), mined: minedOf(applied, ordinal) })
}

const confirmed = (code: KnownCode, applied: Applied, ordinal?: number): Finish<Stellar> =>
  finish({
    state: "confirmed",
    cause: cause(code, { ledger: applied.ledger }),
    mined: minedOf(applied, ordinal)
  })

/** Somebody else sent the envelope of a guest, or paid for it. */
export const executedByOther = (applied: Applied): Finish<Stellar> =>
  applied.isSuccess ? confirmed("executed_by_other", applied) : failed(applied)

/** An envelope of a place was applied. */
const executed = (transaction: Transaction<Stellar>, applied: Applied, isLate: boolean): Finish<Stellar> => {
  const ordinal = transaction.attempts.find(({ hash }) => hash === applied.hash)?.ordinal
  if (ordinal === undefined) return executedByOther(applied)
  return applied.isSuccess
    ? confirmed(isLate ? "executed_late" : "confirmed", applied, ordinal)
    : failed(applied, ordinal)
}

/** What nodes said last, if they took none of its bytes. */
export const refusedLast = ({ attempts }: Transaction<Stellar>): string | undefined => attempts.at(-1)?.refusal?.result

/** Nothing of it was applied before its deadline, and nothing will be. */
export const endedByDeadline = (transaction: Transaction<Stellar>): Finish<Stellar> =>
  finish({
    state: "expired",
    cause: cause("deadline_passed", { until: transaction.validUntil, ...present("error", refusedLast(transaction)) })
  })

type InFlight = Situation<Stellar, StellarSeen>
type Decided = Extract<Outcome, { readonly _tag: "Decided" }>

const isPastDeadline = ({ transaction, now }: InFlight): boolean => now >= transaction.validUntil

const capped = (sequence: bigint): bigint => (sequence > maxInt64 ? maxInt64 : sequence)

/** What becomes of the account of the place. A guest's sequences are not the lane's. */
const freed = ({ transaction }: InFlight, next: bigint): { readonly frees?: Freed } =>
  transaction.facts.guest === undefined ? { frees: { next: capped(next), isProven: true } } : {}

const applied = (situation: InFlight, found: Applied): Commands<Stellar> => {
  const { transaction } = situation
  const isLate = transaction.intent !== "execute" || isPastDeadline(situation)
  const next = (sequenceOf(transaction) ?? 0n) + 1n
  return [{ ...executed(transaction, found, isLate), ...freed(situation, next) }]
}

/** Without an effect: nothing of it was applied, and nothing will be. It has no place any more. */
const ended = (situation: InFlight, end: Finish<never>, next: bigint): Commands<Stellar> => [
  { ...end, losesPlace: true, ...freed(situation, next) }
]

const expired = ({ transaction }: InFlight): Finish<never> =>
  finish({
    state: "expired",
    cause: cause("deadline_passed", present("error", refusedLast(transaction)))
  })

const requeue = (
  situation: InFlight,
  why: Parameters<typeof cause>,
  next: bigint,
  { isTaken = false, restored = false } = {}
): Commands<Stellar> => {
  const { requeues } = situation.transaction
  return [
    Command.Requeue({
      restored,
      requeues: requeues + (isTaken ? 1 : 0),
      cause: cause(...why),
      ...freed(situation, next)
    })
  ]
}

const highest = (sequences: ReadonlyArray<bigint>, least: bigint): bigint =>
  sequences.reduce((most, one) => (one > most ? one : most), least)

/**
 * Something else used the sequence. The lowest one that is shown counts, so that no lie moves the account too far. An envelope that
 * a caller got signed is no foreign use: it is not counted.
 */
const taken = (
  situation: InFlight,
  sequences: ReadonlyArray<bigint>,
  { foreign, isGiven = false }: { readonly foreign: string; readonly isGiven?: boolean }
): Commands<Stellar> => {
  const { transaction } = situation
  const { facts, intent, requeues, restored } = transaction
  const sequence = sequenceOf(transaction) ?? 0n
  const shown = sequences.filter((one) => one >= sequence)
  const next = (shown.length === 0 ? sequence : shown.reduce((least, one) => (one < least ? one : least))) + 1n
  const figures: Figures = { sequence, hash: foreign }
  if (restored) return requeue(situation, ["restored_unproven", figures], next, { restored })
  if (facts.guest !== undefined) return ended(situation, failedWith("sequence_used", figures), next)
  if (intent !== "execute") return ended(situation, endOf(transaction), next)
  if (isPastDeadline(situation)) return ended(situation, expired(situation), next)
  if (transaction.requiredSequence !== undefined) {
    return ended(situation, failedWith("nonce_unavailable", { ...figures, required_sequence: sequence }), next)
  }
  return requeues >= maxRequeues && !isGiven
    ? ended(situation, failedWith("nonce_taken_too_often", figures), next)
    : requeue(situation, ["nonce_taken", figures], next, { isTaken: !isGiven })
}

const failedWith = (code: Parameters<typeof cause>[0], figures: Figures = {}): Finish<never> =>
  finish<never>({ state: "failed", cause: cause(code, figures) })

/** The result, if every envelope of the place was refused for good. */
const refusedForGood = ({ transaction }: InFlight): string | undefined => {
  const attempts = currentAttempts(transaction)
  return attempts.every(({ refusal }) => refusal?.class === "permanent") ? attempts.at(-1)?.refusal?.result : undefined
}

/** No envelope was applied, and none can be any more: the next one gets the sequence that the account shows. */
const dead = (situation: InFlight, sequences: ReadonlyArray<bigint>): Commands<Stellar> => {
  const { transaction } = situation
  const { facts, intent, restored } = transaction
  const next = highest(sequences, 0n) + 1n
  if (restored) return requeue(situation, ["restored_unproven"], next, { restored })
  if (intent !== "execute") return ended(situation, endOf(transaction), next)
  const result = refusedForGood(situation)
  if (result !== undefined) return ended(situation, failedWith("refused_by_all", { error: result }), next)
  if (facts.guest !== undefined || isPastDeadline(situation)) return ended(situation, expired(situation), next)
  return requeue(situation, ["queued"], next)
}

const unproven = (situation: InFlight): Commands<Stellar> => {
  const { transaction } = situation
  const sequence = sequenceOf(transaction) ?? 0n
  if (transaction.intent === "clear") return ended(situation, endOf(transaction), sequence + 1n)
  return hold(situation, "nonce_taken_unproven", { sequence })
}

const ofKind = (situation: InFlight, outcome: Decided): Commands<Stellar> => {
  const { proof } = outcome
  switch (proof.kind) {
    case "applied":
      return applied(situation, proof.applied)
    case "dead":
      return dead(situation, outcome.sequences)
    case "taken":
      return taken(situation, outcome.sequences, proof)
    case "unproven":
      return unproven(situation)
  }
}

/** If one provider has decided because no other had an opinion, the end says so. */
const ofProof = (situation: InFlight, outcome: Decided): Commands<Stellar> => {
  const [first, ...others] = ofKind(situation, outcome)
  return outcome.isByOne && first._tag === "Finish" ? [{ ...first, confirmedBy: 1 }, ...others] : [first, ...others]
}

/** What a transaction waits for whose providers have not decided. Undefined: for nothing that they could show. */
export const undecided = (
  situation: InFlight,
  outcome: Exclude<Outcome, { readonly _tag: "Decided" }>
): Commands<Stellar> | undefined => {
  switch (outcome._tag) {
    case "Disagree":
      return hold(situation, "providers_disagree", present("host", outcome.host))
    case "Unseen": {
      const { host, until } = outcome
      const sequence = sequenceOf(situation.transaction)
      return hold(situation, "landing_unproven", { ...present("sequence", sequence), ...present("host", host), until })
    }
    case "Behind":
      return hold(situation, "second_provider_behind", { ledger: outcome.ledger, other_ledger: outcome.other })
    case "Missing":
      return hold(situation, "second_provider_missing", outcome.figures)
    case "Open":
      return undefined
  }
}

const isReached = (sequence: bigint, account: AccountAt | undefined): boolean =>
  account !== undefined && (account.sequence === undefined || account.sequence >= sequence)

/** Only if the account has reached the sequence there can be something to find. */
const needsProof = ({ transaction, view }: InFlight): boolean => {
  const sequence = sequenceOf(transaction)
  if (view.isProofAsked === true || sequence === undefined) return false
  return view.looks.some(({ testimony }) => isReached(sequence, testimony.account))
}

const proof: Row<Stellar, StellarSeen> = (situation) => {
  const { now, terms, transaction, view } = situation
  if (needsProof(situation)) return [ask<Stellar>("proof"), pollNext(situation)]
  const outcome = outcomeOf(view, {
    sequence: sequenceOf(transaction) ?? 0n,
    watched: watchedOf(transaction),
    finalityByOne: terms.finalityByOne,
    transaction,
    now
  })
  return outcome._tag === "Decided" ? ofProof(situation, outcome) : undecided(situation, outcome)
}

export const decideInFlight = (situation: InFlight): Commands<Stellar> => {
  const found = proof(situation)
  if (found !== undefined) return found
  const { transaction, view } = situation
  const newest = currentAttempts(transaction).at(-1)
  if (newest === undefined) return hold(situation, "restored_unproven")
  const known = view.looks.flatMap((look) => (look.newest === undefined ? [] : [{ newest: look.newest }]))
  const closeTime = ledgerOf(known)?.closeTime ?? 0
  return decideAlive({ ...situation, view: { ...view, newest, closeTime } })
}
