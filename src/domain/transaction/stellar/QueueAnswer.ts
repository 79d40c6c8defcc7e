// What the answer of a node to a send means. An answer is never a verdict: the account's entry is.
import type { Moment } from "../TransactionValues.ts"
import type { LedgerClock } from "./LedgerSettings.ts"

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

export const classOf = (answer: NodeAnswer): AnswerClass => {
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
