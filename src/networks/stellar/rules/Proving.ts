// Which providers count, what they prove together about the envelopes at a place, and how a transaction waits until they do.
import type { Figures } from "../../core/Cause.ts"
import * as Rows from "../../core/Rows.ts"
import { agreeing, neededOf, verdictOf } from "../../core/Rows.ts"
import type { Opinion } from "../../core/Rows.ts"
import type { Situation } from "../../core/Rules.ts"
import { currentAttempts } from "../../core/Transaction.ts"
import type { Transaction } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { momentOf } from "./Stellar.ts"
import type { Stellar } from "./Stellar.ts"
import {
  ledgerTime,
  ledgerTimeOf,
  pollAfter,
  publicSettings,
  signsAloneAfter,
  unseenPatience
} from "./StellarNumbers.ts"
import type { LedgerSettings } from "./StellarNumbers.ts"
import { accountsContradict, contradict, evidenceOf, provenTogether } from "./StellarSeen.ts"
import type { Evidence, LedgerPoint, ProviderLook, StellarSeen, Watched } from "./StellarSeen.ts"

/** Evidence that ends the wait for the envelopes at a place. */
type Proof = Extract<Evidence, { readonly kind: "applied" | "dead" | "taken" | "unproven" }>

export type Outcome =
  /** `sequences`: of the account, as the providers that decided show them. */
  | {
      readonly _tag: "Decided"
      readonly proof: Proof
      readonly sequences: ReadonlyArray<bigint>
      /** One provider decided, because no other had an opinion for as long as the network says. */
      readonly isByOne: boolean
    }
  | { readonly _tag: "Disagree"; readonly host?: string }
  /**
   * The sequence is used, and a provider does not show yet by which transaction. It has until `until` to show it. `host` is masked, and
   * absent if no provider shows it.
   */
  | { readonly _tag: "Unseen"; readonly until: Moment; readonly host?: string }
  /** Another provider still has to see the ledger of the proof. */
  | { readonly _tag: "Behind"; readonly ledger: number; readonly other: number }
  | { readonly _tag: "Missing"; readonly figures: Figures }
  | { readonly _tag: "Open" }

interface Voice {
  readonly look: ProviderLook
  readonly evidence: Evidence
}

const isProof = (evidence: Evidence): evidence is Proof =>
  evidence.kind !== "alive" && evidence.kind !== "unknown" && evidence.kind !== "unseen"

const sequencesOf = (voices: ReadonlyArray<Voice>): ReadonlyArray<bigint> =>
  voices.flatMap(({ look }) => look.testimony.account?.sequence ?? [])

const decided = (proof: Proof, voices: ReadonlyArray<Voice>, isByOne: boolean): Outcome => ({
  _tag: "Decided",
  proof,
  sequences: sequencesOf(voices),
  isByOne
})

/** A provider whose store is too short knows less than one that has the ledgers: its proof counts if nobody has a better one. */
const bestProof = <A extends { readonly proof: Proof }>(proofs: ReadonlyArray<A>): A | undefined =>
  proofs.find(({ proof }) => proof.kind !== "unproven") ?? proofs[0]

/**
 * What two providers prove together. Undefined if no two prove the same, and if others prove what cannot be true at the same time or
 * have found what the stores of the two no longer have.
 */
const agreedOf = (voices: ReadonlyArray<Voice>): Outcome | undefined => {
  const pairs = voices.flatMap((one, index) =>
    voices.slice(index + 1).flatMap((other) => {
      const proof = provenTogether(one.evidence, other.evidence)
      return isProof(proof) ? [{ proof, voices: [one, other] }] : []
    })
  )
  const agreed = bestProof(pairs)
  if (agreed === undefined || pairs.some(({ proof }) => contradict(agreed.proof, proof))) return undefined
  if (agreed.proof.kind === "unproven" && voices.some(({ evidence }) => evidence.kind === "applied")) return undefined
  return decided(agreed.proof, agreed.voices, false)
}

const ledgerOfProof = (proof: Proof): number => (proof.kind === "applied" ? proof.applied.ledger : proof.ledger)

export interface Judging {
  readonly sequence: bigint
  readonly watched: ReadonlyArray<Watched>
  readonly finalityByOne: number | "never"
  readonly transaction: Transaction<Stellar>
  readonly now: Moment
}

/**
 * Until when an index that is behind may show the transaction that used the sequence. After that, it counts as one that does not keep the
 * ledger, and the codes that follow keep it so.
 */
const unseenUntil = ({ now, transaction: { cause, causeSince } }: Judging): Moment => {
  if (cause?.code === "landing_unproven") return causeSince + unseenPatience
  const isOver = cause?.code === "nonce_taken_unproven" || cause?.code === "second_provider_missing"
  return isOver ? now : now + unseenPatience
}

const isUnseen = ({ evidence, look }: Voice): boolean => !look.isStalled && evidence.kind === "unseen"

const isBehind = ({ look }: Voice, proof: Proof): boolean =>
  look.newest !== undefined && look.newest.number < ledgerOfProof(proof)

/** An error is no opinion, and neither is a store that is too short to have what another provider found. */
const hasOpinion = ({ evidence, look }: Voice, proof: Proof): boolean =>
  !look.isStalled && evidence.kind !== "unknown" && !(evidence.kind === "unproven" && proof.kind === "applied")

const cannotBothBeRight = (sequence: bigint, one: Voice, other: Voice): boolean => {
  const first = one.look.testimony.account
  const second = other.look.testimony.account
  if (contradict(one.evidence, other.evidence)) return true
  if (first === undefined || second === undefined) return false
  return accountsContradict(sequence, first, second) || accountsContradict(sequence, second, first)
}

/** `silent`: since when nobody has had an opinion. */
const opinionOf = (sequence: bigint, proof: Proof, first: Voice, other: Voice, silent: Moment): Opinion => {
  const { host, isStalled } = other.look
  if (!isStalled && cannotBothBeRight(sequence, first, other)) return { _tag: "Contradicts", host }
  if (isUnseen(other) || (!isStalled && isBehind(other, proof))) return { _tag: "Behind", host }
  return hasOpinion(other, proof)
    ? { _tag: "Behind", host }
    : { _tag: "Silent", host, since: silent, error: "it does not answer what a proof needs" }
}

/** A provider is missing among the looks: it was not asked. */
const notAsked = (silent: Moment): Opinion => ({
  _tag: "Silent",
  host: "another provider",
  since: silent,
  error: "it was not asked"
})

const behindOf = (proof: Proof, others: ReadonlyArray<Voice>, until: Moment): Outcome => {
  const late = others.find((voice) => !voice.look.isStalled && isBehind(voice, proof))
  if (late?.look.newest !== undefined) {
    return { _tag: "Behind", ledger: ledgerOfProof(proof), other: late.look.newest.number }
  }
  const unseen = others.find(isUnseen)
  return unseen === undefined ? { _tag: "Open" } : { _tag: "Unseen", until, host: unseen.look.host }
}

/** One provider has a proof, and no other one has the same. */
const alone = (
  proof: Proof,
  first: Voice,
  others: ReadonlyArray<Voice>,
  seen: StellarSeen,
  judging: Judging
): Outcome => {
  const { finalityByOne, now, sequence, transaction } = judging
  // The code of the transaction says for how long nobody has had an opinion. Here this process must have seen their silence itself.
  const silent = seen.aloneSince ?? seen.polledSince
  const opinions = others.map((other) => opinionOf(sequence, proof, first, other, silent))
  const numbers = { blockTime: ledgerTime, required: 1, finalityByOne }
  const verdict = verdictOf(opinions.length === 0 ? [notAsked(silent)] : opinions, transaction, numbers, now)
  switch (verdict._tag) {
    case "Disputed":
      return { _tag: "Disagree", ...(verdict.host === undefined ? {} : { host: verdict.host }) }
    case "Waiting":
      return behindOf(proof, others, unseenUntil(judging))
    case "Missing":
      return { _tag: "Missing", figures: verdict.figures }
    case "Alone":
    case "Agreed":
      return decided(proof, [first], true)
  }
}

/** What each provider proves. `unseen` for too long is `unproven`. */
const voicesOf = ({ looks }: StellarSeen, judging: Judging): ReadonlyArray<Voice> => {
  const { now, sequence, watched } = judging
  const voices = looks.map((look): Voice => ({ look, evidence: evidenceOf(sequence, watched, look.testimony) }))
  const isOver = now >= unseenUntil(judging)
  return voices.map(({ evidence, look }) =>
    isOver && evidence.kind === "unseen"
      ? { look, evidence: { kind: "unproven", ledger: evidence.ledger } }
      : { look, evidence }
  )
}

/** No provider has a proof. While a provider shows the sequence as unused, what was signed is sent to it. */
const withoutProof = (voices: ReadonlyArray<Voice>, judging: Judging): Outcome =>
  voices.some(({ evidence }) => evidence.kind === "unseen") &&
  !voices.some(({ evidence, look }) => !look.isStalled && evidence.kind === "alive")
    ? { _tag: "Unseen", until: unseenUntil(judging) }
    : { _tag: "Open" }

export const outcomeOf = (seen: StellarSeen, judging: Judging): Outcome => {
  const voices = voicesOf(seen, judging)
  const first = bestProof(
    voices.flatMap((voice) => (isProof(voice.evidence) ? [{ proof: voice.evidence, voice }] : []))
  )
  if (first === undefined) return withoutProof(voices, judging)
  if (seen.configured < agreeing) return decided(first.proof, [first.voice], false)
  const others = voices.filter((voice) => voice !== first.voice)
  return agreedOf(voices) ?? alone(first.proof, first.voice, others, seen, judging)
}

// The envelopes of a transaction that may be applied at its present place.

/** The sequence that its envelopes use. Undefined: it has no place. */
export const sequenceOf = ({ facts, place }: Transaction<Stellar>): bigint | undefined =>
  facts.guest?.sequence ?? place?.sequence

/** An envelope of a guest exists before the service signs anything for it. */
export const watchedOf = (transaction: Transaction<Stellar>): ReadonlyArray<Watched> => {
  const { guest } = transaction.facts
  const attempts = currentAttempts(transaction).map(
    ({ hash, offer: { innerHash, maxLedger, maxTime, seenLedger } }): Watched => ({
      hash,
      ...(innerHash === undefined ? {} : { innerHash }),
      maxTime: BigInt(maxTime),
      ...(maxLedger === undefined ? {} : { maxLedger }),
      seenLedger
    })
  )
  if (attempts.length > 0 || guest === undefined) return attempts
  return [{ hash: guest.innerHash, maxTime: BigInt(guest.maxTime), seenLedger: 0 }]
}

// Waiting: the state stays, with a code, until the next look at the chain.

/** A provider that showed the account, and its newest ledger. */
export interface AskedProvider extends ProviderLook {
  readonly newest: LedgerPoint
  readonly account: NonNullable<ProviderLook["testimony"]["account"]>
}

/** The providers whose view counts before a signature: two, or the one that answers. */
export const askedOf = ({ looks }: StellarSeen): ReadonlyArray<AskedProvider> =>
  looks
    .flatMap((look) => {
      const { newest, testimony } = look
      return look.isStalled || newest === undefined || testimony.account === undefined
        ? []
        : [{ ...look, newest, account: testimony.account }]
    })
    .slice(0, agreeing)

/**
 * Whether their view is enough for a signature. If one of two fails for a moment, the other one could name a ledger that does
 * not exist yet as the one before which nothing of the envelope was applied.
 */
export const areEnough = (asked: ReadonlyArray<AskedProvider>, { aloneSince, configured }: StellarSeen, now: Moment) =>
  asked.length >= neededOf({ configured }) ||
  (asked.length > 0 && aloneSince !== undefined && now >= aloneSince + signsAloneAfter)

/** The newest ledger of the provider that has the lowest one: no lie of another makes the time run ahead. */
export const ledgerOf = (asked: ReadonlyArray<{ readonly newest: LedgerPoint }>): LedgerPoint | undefined =>
  asked.map(({ newest }) => newest).toSorted((one, other) => one.closeTime - other.closeTime)[0]

const newestOf = ({ view }: Situation<Stellar>): LedgerPoint | undefined =>
  view._tag === "Seen"
    ? ledgerOf(view.looks.flatMap(({ newest }) => (newest === undefined ? [] : [{ newest }])))
    : undefined

/** What the network has voted, as far as a provider has said it. */
const settingsOf = ({ view }: Situation<Stellar>): LedgerSettings =>
  (view._tag === "Seen" ? view.settings : undefined) ?? publicSettings

/** Polls a ledger time after the newest ledger, and then each quarter of it until a new one is seen. */
export const rows = Rows.make<Stellar>((situation) => {
  const { now } = situation
  const newest = newestOf(situation)
  const wait = ledgerTimeOf(settingsOf(situation)) + pollAfter.ledger
  const expected = newest === undefined ? now : momentOf(newest.closeTime) + wait
  return expected > now && expected <= now + wait ? expected : now + pollAfter.again
})

export const { hold, holdFor, pollNext } = rows
