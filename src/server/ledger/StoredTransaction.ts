// A transaction of the ledger, with what the state machine does not know.
import type { TransactionId } from "../../domain/transaction/EvmTransaction.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { LaneId } from "./StoredLane.ts"

export interface StoredTransaction {
  readonly id: TransactionId
  /** The version of the row, which each change increments. */
  readonly version: number
  readonly laneId: LaneId
  readonly relayerId: RelayerId
  /** Lower-case hex. */
  readonly from: string
  readonly externalId?: string
  readonly apiKeyId?: string
  /** The request that it was accepted by. */
  readonly requestId?: string
  /** `traceparent` of the request that it was accepted by. */
  readonly trace?: string
  readonly confirmedAt?: Moment
  /** Wei that it can cost, or has cost. Absent: its API key has no limit of fees. */
  readonly fee?: bigint
  readonly transaction: Transaction
}

/** Signed bytes of one attempt. */
export interface Bytes {
  readonly id: TransactionId
  readonly ordinal: number
  readonly raw: Uint8Array
}
