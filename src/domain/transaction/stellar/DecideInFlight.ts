// Decisions about transactions that have envelopes. Only a proof about all envelopes of the place ends one or moves it on.
import { cause } from "../Cause.ts"
import type { Figures } from "../Cause.ts"
import { present } from "../Presentation.ts"
import { ask, Command, finish } from "../Rules.ts"
import type { Commands, Finish, Freed, Row, Situation } from "../Rules.ts"
import { currentAttempts } from "../Transaction.ts"
import { maxRequeues } from "../TransactionValues.ts"
import { endOf } from "../Transition.ts"
import { decideAlive } from "./DecideAlive.ts"
import type { AccountAt, Applied } from "./Evidence.ts"
import { maxInt64 } from "./Int64.ts"
import { outcomeOf } from "./Proving.ts"
import type { Outcome } from "./Proving.ts"
import type { Stellar } from "./Stellar.ts"
import { executed, refusedLast } from "./StellarEnds.ts"
import { hold, ledgerOf, pollNext } from "./StellarHolding.ts"
import type { StellarSeen } from "./StellarSeen.ts"
import { sequenceOf, watchedOf } from "./Watched.ts"

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
  if (needsProof(situation)) return [ask<Stellar>("proof"), ...pollNext(situation)]
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
