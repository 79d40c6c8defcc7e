// Signed bytes that a caller gets and the service does not send: the caller, or anybody else, can send them while they are valid.
import type { Moment } from "../../domain/transaction/Moment.ts"

export interface GivenSignature {
  /** As `Rules.identityOf` says of the same bytes as a transaction. */
  readonly identity?: string
  readonly hash: string
  readonly raw: Uint8Array
  /** The most that it can cost in fees, in the smallest unit of the chain. */
  readonly fee: bigint
  /**
   * The last moment, or the last height, at which a block can contain it. The network adds what clocks and blocks can differ by.
   * The height is counted as `LaneAccount.chainBlock` is.
   */
  readonly end: { readonly validUntil: Moment } | { readonly lastHeight: number }
  /** What its operations take from the balance besides the fee, in the smallest unit. Absent: nothing. */
  readonly outflow?: bigint
  /** The sequence that it uses. Absent: no transaction of the lane has to wait for it. */
  readonly sequence?: bigint
  /** What an attempt with these bytes would have as its offer: a shape of the network. Absent: a transaction never takes the bytes over. */
  readonly offer?: unknown
}

/** A sequence of the lane's own account that a signature can use until a moment. */
export interface GivenPlace {
  readonly hash: string
  readonly sequence: bigint
  readonly validUntil: Moment
}

/** What the caller gets. */
export interface IssuedSignature {
  readonly hash: string
  readonly raw: Uint8Array
  /** False: the same bytes were given to a caller of the relayer before. */
  readonly isNew: boolean
}
