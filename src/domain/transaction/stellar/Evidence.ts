// What one provider proves about the envelopes at a place, and what two of them prove together.
// `NOT_FOUND`, ledgers in which nothing is found, refusals and clocks prove nothing: an index of transactions can be behind the ledger
// that the provider names. The account's entry at a numbered ledger proves what it says, and so does a transaction that is shown.

import { present } from "../Presentation.ts"

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
export interface Use {
  /** The hash of the envelope, then that of the one inside of a fee bump. */
  readonly hashes: readonly [outer: string, ...inner: ReadonlyArray<string>]
  /** Whether it is one that a caller got signed. Absent: it is not. */
  readonly isGiven?: true
}

/** What the transactions of ledgers show that were read by number. */
export interface Scan {
  /** Absent: no transaction that is shown used the sequence. The index may be behind. */
  readonly use?: Use
  /** The range has more transactions than are read. */
  readonly isCut?: true
}

/** What one provider says. What was not asked or not answered is absent. */
export interface Testimony {
  readonly account?: AccountAt
  /** Found by an outer or an inner hash. */
  readonly found?: Applied
  readonly scan?: Scan
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
export interface Range {
  readonly from: number
  readonly to: number
}

/** The ledgers after the first signature up to X. If the entry names the ledger of exactly our sequence, only that one. */
export const rangeOf = (sequence: bigint, watched: ReadonlyArray<Watched>, account: AccountAt): Range => {
  const { ledger, seqLedger } = account
  if (seqLedger !== undefined && seqLedger > 0 && account.sequence === sequence)
    return { from: seqLedger, to: seqLedger }
  return { from: Math.min(...watched.map(({ seenLedger }) => seenLedger)) + 1, to: ledger.number }
}

/** Whether the transaction is one of the envelopes. */
export const isOurs = ({ hashes }: Use, watched: ReadonlyArray<Watched>): boolean =>
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
export const together = (one: Evidence, other: Evidence): Evidence => {
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
