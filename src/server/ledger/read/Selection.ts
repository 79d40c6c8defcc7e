// Which transactions a list contains.
import type { Moment } from "../../../domain/transaction/Moment.ts"
import type { State } from "../../../domain/transaction/Transaction.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"

export interface Filter {
  /** Absent: transactions of all relayers. */
  readonly relayerNumbers?: ReadonlyArray<number>
  /** Absent or empty: all states. */
  readonly states?: ReadonlyArray<State>
  /** Only open transactions with one of these codes. Absent: with any code, or none. */
  readonly codes?: ReadonlyArray<string>
  /** Only open transactions whose code is not one of `usualCodes`. */
  readonly isHeld?: true
  /** The hash of any attempt, in lower case. */
  readonly hash?: string
  readonly externalId?: string
  /** Accepted at or after this moment. */
  readonly createdAfter?: Moment
  /** Accepted before this moment. */
  readonly createdBefore?: Moment
  /** Absent: `request`. */
  readonly origin?: "request" | "gap" | "channel" | "restore"
}

/** Newest first. */
export interface Selection {
  readonly filter: Filter
  readonly limit: number
  /** Number of the last transaction before the selection. Absent: it begins with the newest, after `offset`. */
  readonly after?: number
  readonly offset?: number
}

export interface SelectedTransactions {
  readonly transactions: ReadonlyArray<StoredTransaction>
  /** Whether further ones of the selection did not fit into 1 MiB. */
  readonly isCut: boolean
}
