// A transaction of the ledger, with what the state machine does not know.
import type { TransactionId } from "../../domain/transaction/TransactionId.ts"
import type { Family } from "../../domain/transaction/Family.ts"
import type { Rules } from "../../domain/transaction/Rules.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { LaneId } from "./StoredLane.ts"

export interface StoredTransaction<F extends Family = Family> {
  readonly id: TransactionId
  /** The version of the row, which each change increments. */
  readonly version: number
  readonly laneId: LaneId
  readonly relayerId: RelayerId
  /** The chain of its lane, such as `evm:8453`. */
  readonly chain: string
  /** The first account of its lane, in the canonical form of the network. */
  readonly from: string
  readonly externalId?: string
  readonly apiKeyId?: string
  /** The request that it was accepted by. */
  readonly requestId?: string
  /** `traceparent` of the request that it was accepted by. */
  readonly trace?: string
  readonly confirmedAt?: Moment
  /** What it can cost, or has cost, in the smallest unit of the chain. Absent: its API key has no limit of fees. */
  readonly fee?: bigint
  readonly transaction: Transaction<F>
}

/** Whether a transaction belongs to a network type, so that its shapes are those of the family. */
export const isOf = <F extends Family>(
  { type }: Pick<Rules<F>, "type">,
  stored: StoredTransaction
): stored is StoredTransaction<F> => stored.chain.startsWith(`${type}:`)

/** Signed bytes of one attempt. */
export interface Bytes {
  readonly id: TransactionId
  readonly ordinal: number
  readonly raw: Uint8Array
}
