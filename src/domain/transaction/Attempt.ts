// Attempts: the signed versions of a transaction. What left may be mined, so none of them is ever forgotten.
import type { Family } from "./Family.ts"
import type { Moment, Point } from "./Moment.ts"
import type { Place } from "./Place.ts"

/** `bump`, `replace` and `refresh` execute the request, like `original`; a raised no-op is a `noop` again. */
export type AttemptKind = "original" | "bump" | "replace" | "noop" | "refresh"

export interface Receipt<F extends Family = Family> {
  /** The number of the block, slot or ledger that contains the transaction. */
  readonly height: number
  /** Absent: the chain does not name it. */
  readonly blockHash?: string
  readonly isSuccess: boolean
  /** What the sender has paid in fees, in the smallest unit of the chain. */
  readonly paid: bigint
  readonly details: F["details"]
}

/** `unknown`: it may have left or not. `accepted` and `refused` are the newest answers of nodes. */
type Outcome = "unknown" | "accepted" | "refused"

export interface Attempt<F extends Family = Family> {
  /** From 1, over all places of the transaction. */
  readonly ordinal: number
  readonly kind: AttemptKind
  readonly generation: number
  /** Version of the request that it carries, from 1. */
  readonly requestVersion: number
  readonly hash: string
  readonly place: Place
  readonly offer: F["offer"]
  /** The most that it can cost in fees, in the smallest unit of the chain. */
  readonly maxFee: bigint
  readonly signedAt: Moment
  readonly sends: number
  /** Absent: never sent. Patience counts from here. */
  readonly firstSent?: Point
  readonly lastSentAt?: Moment
  readonly outcome: Outcome
  readonly refusal?: F["refusal"]
}

/** The attempt after a broadcast of its bytes. An earlier refusal does not count any more. */
export const afterSend = <F extends Family>(
  attempt: Attempt<F>,
  at: Point,
  { outcome, refusal }: { readonly outcome: Outcome; readonly refusal: F["refusal"] | undefined }
): Attempt<F> => {
  const { refusal: _, ...former } = attempt
  return {
    ...former,
    sends: attempt.sends + 1,
    firstSent: attempt.firstSent ?? at,
    lastSentAt: at.at,
    outcome,
    ...(refusal === undefined ? {} : { refusal })
  }
}

export const isNoop = ({ kind }: Pick<Attempt, "kind">): boolean => kind === "noop"

/** Whether two attempts do the same on chain: nothing, or the same version of the request. */
export const doesTheSame = (one: Attempt, other: Attempt): boolean =>
  isNoop(one) ? isNoop(other) : !isNoop(other) && one.requestVersion === other.requestVersion
