// What the answer of a node to a send means. An answer is never a verdict: the account's entry is.
import type { Moment } from "../Moment.ts"
import { lateSlack } from "./StellarNumbers.ts"

/** An answer, decoded from `status` and `errorResultXdr`. */
export type NodeAnswer =
  | { readonly status: "PENDING" | "DUPLICATE" | "TRY_AGAIN_LATER" }
  /** `fee`: `feeCharged`, which names the needed fee of `txINSUFFICIENT_FEE`. `inner`: of a fee bump. */
  | { readonly status: "ERROR"; readonly result: string; readonly fee: bigint; readonly inner?: string }
  /** −32602 `invalid_xdr`. */
  | { readonly status: "INVALID" }
  /** A time-out, a status of HTTP, another error of JSON-RPC, or an answer that cannot be read. */
  | { readonly status: "UNKNOWN" }

export type AnswerClass =
  | { readonly kind: "accepted" }
  /** The same bytes again after a ledger. */
  | { readonly kind: "not_now" }
  /** The sequence of the account decides. */
  | { readonly kind: "look" }
  /** Nothing is sent any more; the envelope dies by itself. */
  | { readonly kind: "too_late" }
  | { readonly kind: "fee"; readonly needed: bigint }
  | { readonly kind: "funds" }
  | { readonly kind: "resources" }
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
      return { kind: "look" }
    case "txTooLate":
      return { kind: "too_late" }
    case "txTooEarly":
      return { kind: "not_now" }
    case "txInsufficientFee":
      return { kind: "fee", needed: fee }
    case "txInsufficientBalance":
      return { kind: "funds" }
    case "txSorobanInvalid":
      return { kind: "resources" }
    case "txFeeBumpInnerFailed":
      return inner === undefined ? { kind: "provider" } : ofResult(inner, fee, undefined)
    default:
      return permanent.has(result) ? { kind: "permanent", result } : { kind: "provider" }
  }
}

export const classOf = (answer: NodeAnswer): AnswerClass => {
  switch (answer.status) {
    case "PENDING":
    case "DUPLICATE":
      return { kind: "accepted" }
    case "TRY_AGAIN_LATER":
      return { kind: "not_now" }
    case "ERROR":
      return ofResult(answer.result, answer.fee, answer.inner)
    case "INVALID":
      return { kind: "permanent", result: "invalid_xdr" }
    case "UNKNOWN":
      return { kind: "provider" }
  }
}

/** Whether a node would still take bytes. In unix seconds. */
export const isSendable = (maxTime: bigint, closeTime: number): boolean => BigInt(closeTime + lateSlack) < maxTime

/** Milliseconds. */
const second = 1000
const longestWait = 5 * second

/** When bytes whose outcome is unknown are sent again: after a second, which doubles with each send up to five. */
export const againAfterUnknown = (sentAt: Moment, sends: number): Moment =>
  sentAt + Math.min(longestWait, second * 2 ** Math.max(0, sends - 1))
