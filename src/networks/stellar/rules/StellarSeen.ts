// What providers say: of the chain at a poll, of the envelopes at a place as a proof, of a send as an answer.
import { present } from "../../core/Presentation.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import type { Refusal } from "./Envelope.ts"
import type { PricedPayment } from "./SponsoredPayment.ts"
import type { FeeStats, LedgerClock, LedgerSettings } from "./StellarNumbers.ts"

// What one provider proves about the envelopes at a place, and what two of them prove together.
// `NOT_FOUND`, ledgers in which nothing is found, refusals and clocks prove nothing: an index of transactions can be behind the ledger
// that the provider names. The account's entry at a numbered ledger proves what it says, and so does a transaction that is shown.

/** A ledger as a provider shows it. `closeTime` in unix seconds. */
export interface LedgerPoint {
  readonly number: number
  readonly closeTime: number
}

/** The account at one ledger. `sequence` is absent if the account does not exist. */
export interface AccountAt {
  readonly ledger: LedgerPoint
  readonly sequence?: bigint
  /** The ledger in which the account used its sequence, if the entry says so. */
  readonly seqLedger?: number
}

/** An envelope of ours at the place. */
export interface Watched {
  readonly hash: string
  readonly innerHash?: string
  /** Unix seconds. */
  readonly maxTime: bigint
  readonly maxLedger?: number
  /** The lowest newest ledger of the asked providers before the first signature at the place. */
  readonly seenLedger: number
}

export interface Applied {
  readonly hash: string
  readonly ledger: number
  readonly isSuccess: boolean
  /** `TransactionResult` in base64. */
  readonly result: string
  /** Name of the result, such as `txSuccess`. Of a fee bump: that of the envelope inside of it. */
  readonly code: string
  /** Names of the results of the operations, such as `paymentSuccess`. */
  readonly operations: ReadonlyArray<string>
  /** Stroops that were charged. */
  readonly fee: bigint
}

/** A transaction that used the sequence, or whose operation moved the account past it. */
export interface SequenceUse {
  /** The hash of the envelope, then that of the one inside of a fee bump. */
  readonly hashes: readonly [outer: string, ...inner: ReadonlyArray<string>]
  /** Whether it is one that a caller got signed. Absent: it is not. */
  readonly isGiven?: true
}

/** What the transactions of ledgers show that were read by number. */
export interface LedgerScan {
  /** Absent: no transaction that is shown used the sequence. The index may be behind. */
  readonly use?: SequenceUse
  /** The range has more transactions than are read. */
  readonly isCut?: true
}

/** What one provider says. What was not asked or not answered is absent. */
export interface Testimony {
  readonly account?: AccountAt
  /** Found by an outer or an inner hash. */
  readonly found?: Applied
  readonly scan?: LedgerScan
  /** The oldest ledger that it keeps. */
  readonly oldestLedger?: number
}

export type Evidence =
  | { readonly kind: "applied"; readonly applied: Applied }
  | { readonly kind: "dead"; readonly ledger: number; readonly sequence: bigint }
  | {
      readonly kind: "taken"
      readonly ledger: number
      readonly sequence?: bigint
      readonly foreign: string
      readonly isGiven?: true
    }
  | { readonly kind: "alive"; readonly ledger: number; readonly sequence: bigint }
  /** The sequence is used in this ledger, and the provider does not show yet by which transaction. */
  | { readonly kind: "unseen"; readonly ledger: number }
  /** The same, and the provider will not show it: its store does not reach back so far, or it has too many transactions to read. */
  | { readonly kind: "unproven"; readonly ledger: number }
  | { readonly kind: "unknown" }

const unknown: Evidence = { kind: "unknown" }

/** The ledger X is past the envelope: neither X nor a later one contains it. */
const isPast = ({ closeTime, number }: LedgerPoint, { maxLedger, maxTime }: Watched): boolean =>
  BigInt(closeTime) > maxTime || (maxLedger !== undefined && number >= maxLedger - 1)

/** The ledgers that contain the transaction that used the sequence. */
export interface LedgerRange {
  readonly from: number
  readonly to: number
}

/** The ledgers after the first signature up to X. If the entry names the ledger of exactly our sequence, only that one. */
export const rangeOf = (sequence: bigint, watched: ReadonlyArray<Watched>, account: AccountAt): LedgerRange => {
  const { ledger, seqLedger } = account
  if (seqLedger !== undefined && seqLedger > 0 && account.sequence === sequence)
    return { from: seqLedger, to: seqLedger }
  return { from: Math.min(...watched.map(({ seenLedger }) => seenLedger)) + 1, to: ledger.number }
}

/** Whether the transaction is one of the envelopes. */
export const isOurs = ({ hashes }: SequenceUse, watched: ReadonlyArray<Watched>): boolean =>
  watched.some(
    ({ hash, innerHash }) => hashes.includes(hash) || (innerHash !== undefined && hashes.includes(innerHash))
  )

/**
 * What is proven if the sequence was used by something. At one sequence, the network applies one transaction at most: one that is not ours
 * is the proof, and that none is shown is none. If it is ours, the look-up by hash will find its result.
 */
const ofUsed = (
  sequence: bigint,
  watched: ReadonlyArray<Watched>,
  account: AccountAt,
  { oldestLedger, scan }: Testimony
): Evidence => {
  const ledger = account.ledger.number
  const use = scan?.use
  if (use !== undefined && !isOurs(use, watched)) {
    return {
      kind: "taken",
      ledger,
      ...present("sequence", account.sequence),
      foreign: use.hashes[0],
      ...present("isGiven", use.isGiven)
    }
  }
  const isForgotten = oldestLedger !== undefined && oldestLedger > rangeOf(sequence, watched, account).from
  return { kind: use === undefined && (isForgotten || scan?.isCut === true) ? "unproven" : "unseen", ledger }
}

/** What one provider proves about the envelopes that hold a sequence. */
export const evidenceOf = (sequence: bigint, watched: ReadonlyArray<Watched>, testimony: Testimony): Evidence => {
  const { account, found } = testimony
  if (found !== undefined) return { kind: "applied", applied: found }
  if (account === undefined || watched.length === 0) return unknown
  const { ledger } = account
  if (account.sequence === undefined || account.sequence >= sequence)
    return ofUsed(sequence, watched, account, testimony)
  const kind = watched.every((one) => isPast(ledger, one)) ? "dead" : "alive"
  return { kind, ledger: ledger.number, sequence: account.sequence }
}

const isSameResult = (one: Applied, other: Applied): boolean =>
  one.hash === other.hash && one.ledger === other.ledger && one.result === other.result

/**
 * What two providers prove together, each by itself. `taken` beside `unproven` is `unproven`, and everything else on which they
 * differ is unknown.
 */
export const provenTogether = (one: Evidence, other: Evidence): Evidence => {
  if (one.kind === "applied" && other.kind === "applied")
    return isSameResult(one.applied, other.applied) ? one : unknown
  if (one.kind === other.kind) return one
  const kinds = new Set([one.kind, other.kind])
  if (!kinds.has("taken") || !kinds.has("unproven")) return unknown
  return one.kind === "unproven" ? one : other
}

/** Whether two providers cannot both be right, rather than one being behind. */
export const contradict = (one: Evidence, other: Evidence): boolean => {
  if (one.kind === "applied" && other.kind === "applied") return !isSameResult(one.applied, other.applied)
  if (one.kind === "applied") return excludes(other, one)
  return other.kind === "applied" && excludes(one, other)
}

const isUsed = (sequence: bigint, account: AccountAt): boolean =>
  account.sequence === undefined || account.sequence >= sequence

/** One shows the sequence as used at a ledger at which, or after which, the other shows it as unused. */
export const accountsContradict = (sequence: bigint, one: AccountAt, other: AccountAt): boolean =>
  isUsed(sequence, one) && !isUsed(sequence, other) && one.ledger.number <= other.ledger.number

/**
 * Whether our envelope cannot be in the ledger of `applied`. After a ledger in which the envelopes are dead or something else has used
 * the sequence, no ledger contains ours either. A sequence that nobody has used excludes only earlier ledgers.
 */
const excludes = (evidence: Evidence, { applied }: Extract<Evidence, { readonly kind: "applied" }>): boolean =>
  evidence.kind === "dead" ||
  evidence.kind === "taken" ||
  (evidence.kind === "alive" && evidence.ledger >= applied.ledger)

/** An account as its entry has it. Amounts in stroops. */
export interface AccountEntry {
  readonly balance: bigint
  readonly sellingLiabilities: bigint
  readonly subentries: number
  readonly sponsoring: number
  readonly sponsored: number
  /** Weight of the account's own key, and what payments need. */
  readonly masterWeight: number
  readonly mediumThreshold: number
}

/** What one provider says. Answers are never mixed between providers. */
export interface ProviderLook {
  /** Masked. */
  readonly host: string
  /** Whether its ledgers stand still while those of others move, or it does not answer. */
  readonly isStalled: boolean
  /** Absent: it did not say. */
  readonly newest?: LedgerPoint
  /**
   * About the account whose sequence counts: that of the place, else the guest's, else the one where the lane would sign next.
   * `found` and `scan` only after the question `proof`.
   */
  readonly testimony: Testimony
  /** The relayer's own account, which pays. Absent: it was not read. Null: it does not exist. */
  readonly payer?: AccountEntry | null
}

/** What the simulations of a call say, of as many providers as must agree. */
export type SorobanView =
  | {
      readonly _tag: "Succeeds"
      /** Stroops, as the provider with the highest one says: `minResourceFee`. */
      readonly resourceFee: bigint
      /** Base64, with the margins of `resourceMargin`. */
      readonly data: string
      /** Base64 of the authorizations that it recorded, of the addresses that the request names. */
      readonly recorded: ReadonlyArray<string>
      /** The lowest ledger at which an authorization with an address expires. Absent: none expires. */
      readonly untilLedger?: number
    }
  | { readonly _tag: "Fails"; readonly error: string }
  | {
      readonly _tag: "NeedsRestore"
      /** Stroops that the restore needs, and base64 of its data, with the margins of `resourceMargin`. */
      readonly fee: bigint
      readonly data: string
      /** Stroops that the call needs afterwards. */
      readonly resourceFee: bigint
    }
  /** `Disagrees`: it fails at one provider only. `FailsAlone`: no other provider has an opinion. */
  | { readonly _tag: "Disagrees" | "FailsAlone" | "Unknown" }

/** A payment whose accounts are in order. `NoPrice`: there is no price now. `Unreadable`: no provider shows its accounts. */
export type PaymentView = ({ readonly _tag: "Priced" } & PricedPayment) | { readonly _tag: "NoPrice" | "Unreadable" }

/** A provider whose simulation does not show what a call changes of accounts of the service, while no other one answers. */
export interface Hiding {
  /** Masked. */
  readonly host: string
  /** Whether no other one is configured. */
  readonly isOnlyOne: boolean
}

/** The answer to the question `prepare`. */
export interface Preparation {
  /** The work of the service is already done, or is not needed any more. */
  readonly isObsolete?: true
  /** The first rule of the guard that the envelope breaks now, those that need the chain included. */
  readonly broken?: Refusal
  /** What one provider alone does not show of a call, as the guard refuses it. */
  readonly unshown?: Hiding & { readonly detail: string }
  /** How many operations the envelope has. The inner one, if there is one. */
  readonly operations: number
  /** Stroops that the operations take from the relayer at most, as the limits of keys count them. */
  readonly out: bigint
  /** The fee of the inner envelope that a guest has signed, and what it declares for resources. */
  readonly inner?: { readonly fee: bigint; readonly resourceFee?: bigint }
  /** Stroops per operation at least, as the network has voted. Absent: no provider says. */
  readonly baseFee?: bigint
  /** Of classic or of Soroban transactions, whichever this is. Absent: no provider says. */
  readonly stats?: FeeStats
  /** Absent: it is not a call. */
  readonly soroban?: SorobanView
  /** What the user of a fee bump pays. Absent: the policy needs no payment. */
  readonly payment?: PaymentView
}

/** Where an envelope can be applied that a caller got signed. */
export interface GivenPlace {
  /** Hex. */
  readonly hash: string
  readonly sequence: bigint
  /** Unix seconds. */
  readonly maxTime: number
}

export interface StellarSeen {
  readonly _tag: "Seen"
  /** Providers that are configured. */
  readonly configured: number
  /** In the order of the lane. */
  readonly looks: ReadonlyArray<ProviderLook>
  /** Since when only one provider has an opinion. Absent: another one has. */
  readonly aloneSince?: Moment
  /** Since when this process polls the providers: no silence that it has seen itself is longer. */
  readonly polledSince: Moment
  /** When a new ledger was last seen. */
  readonly newestSince: Moment
  /** What the network has voted. Absent: those of the public network count. */
  readonly settings?: LedgerSettings
  /** Signatures that callers got, at sequences of the relayer's own account that are not used yet. Absent: there are none. */
  readonly given?: ReadonlyArray<GivenPlace>
  /** Whether the question `proof` was asked in this look. */
  readonly isProofAsked?: true
  /** The answer to the question `prepare`. */
  readonly preparation?: Preparation
}

// What the answer of a node to a send means. An answer is never a verdict: the account's entry is.

/** An answer, decoded from `status` and `errorResultXdr`. */
export type NodeAnswer =
  /** FILTERED: validators do not take transactions of one of the accounts. */
  | { readonly status: "PENDING" | "DUPLICATE" | "TRY_AGAIN_LATER" | "FILTERED" }
  /** `fee`: `feeCharged`, which names the needed fee of `txINSUFFICIENT_FEE`. `inner`: of a fee bump. */
  | { readonly status: "ERROR"; readonly result: string; readonly fee: bigint; readonly inner?: string }
  /** −32602 `invalid_xdr`. */
  | { readonly status: "INVALID" }
  /** A time-out, a status of HTTP, another error of JSON-RPC, or an answer that cannot be read. */
  | { readonly status: "UNKNOWN" }

export type AnswerClass =
  | { readonly kind: "accepted" }
  /** The same bytes again after a ledger. `result`: absent if the node named none. */
  | { readonly kind: "not_now"; readonly result?: string }
  /** The sequence of the account decides. */
  | { readonly kind: "look"; readonly result: string }
  /** The node closes ledgers later than others, or has had these bytes before: another send costs nothing. */
  | { readonly kind: "too_late"; readonly result: string }
  | { readonly kind: "fee"; readonly needed: bigint; readonly result: string }
  | { readonly kind: "funds"; readonly result: string }
  | { readonly kind: "resources"; readonly result: string }
  /** A refusal that says nothing about later sends. */
  | { readonly kind: "other"; readonly result: string }
  | { readonly kind: "permanent"; readonly result: string }
  /** The outcome is unknown: another provider is asked. */
  | { readonly kind: "provider" }

const permanent: ReadonlySet<string> = new Set([
  "txNoAccount",
  "txBadAuth",
  "txBadAuthExtra",
  "txMalformed",
  "txMissingOperation",
  "txNotSupported",
  "txBadSponsorship",
  "txFrozenKeyAccessed",
  "txFailed"
])

const ofResult = (result: string, fee: bigint, inner: string | undefined): AnswerClass => {
  switch (result) {
    case "txBadSeq":
    case "txBadMinSeqAgeOrGap":
      return { kind: "look", result }
    case "txTooLate":
      return { kind: "too_late", result }
    case "txTooEarly":
      return { kind: "not_now", result }
    case "txInsufficientFee":
      return { kind: "fee", needed: fee, result }
    case "txInsufficientBalance":
      return { kind: "funds", result }
    case "txSorobanInvalid":
      return { kind: "resources", result }
    case "txFeeBumpInnerFailed":
      return inner === undefined ? { kind: "other", result } : ofResult(inner, fee, undefined)
    default:
      return { kind: permanent.has(result) ? "permanent" : "other", result }
  }
}

export const answerClassOf = (answer: NodeAnswer): AnswerClass => {
  switch (answer.status) {
    case "PENDING":
    case "DUPLICATE":
      return { kind: "accepted" }
    case "TRY_AGAIN_LATER":
      return { kind: "not_now" }
    case "FILTERED":
      return { kind: "other", result: "filtered" }
    case "ERROR":
      return ofResult(answer.result, answer.fee, answer.inner)
    case "INVALID":
      return { kind: "permanent", result: "invalid_xdr" }
    case "UNKNOWN":
      return { kind: "provider" }
  }
}

/** Whether a node would still take bytes: `maxTime` has to be after the earliest moment at which the ledger after the next one closes. */
export const isSendable = (maxTime: bigint, { closeTime, quiet, slack }: LedgerClock): boolean =>
  BigInt(closeTime + quiet + slack) < maxTime

/** Milliseconds. */
const second = 1000
const longestWait = 5 * second

/** When bytes whose outcome is unknown are sent again: after a second, which doubles with each send up to five. */
export const againAfterUnknown = (sentAt: Moment, sends: number): Moment =>
  sentAt + Math.min(longestWait, second * 2 ** Math.max(0, sends - 1))
