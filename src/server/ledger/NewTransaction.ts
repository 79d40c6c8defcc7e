// A transaction that the ledger is to accept.
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { TransactionId } from "../../domain/transaction/TransactionId.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import type { LaneKey } from "../../domain/transaction/Rules.ts"
import type { StoredTransaction } from "./StoredTransaction.ts"

/** The relayer that sends, and its lane. */
export interface Account extends LaneKey {
  readonly relayerId: RelayerId
  /** `StoredRelayer.number`. */
  readonly relayerNumber: number
  /** Transactions in flight that a new lane begins with. */
  readonly window: number
}

export interface NewTransaction {
  readonly id: TransactionId
  readonly request: unknown
  readonly facts: unknown
  /** As `Rules.identityOf` says. */
  readonly identity?: string
  /** As `Rules.exclusiveOf` says. */
  readonly exclusive?: string
  readonly validUntil: Moment
  readonly notBefore?: Moment
  readonly requiredSequence?: bigint
  readonly priority: number
  readonly externalId?: string
  /** Canonical text of the body: a repeated `external_id` has to come with the same one. */
  readonly body: string
  /** Wei that its fees can cost. Absent: the API key has no limit of fees. */
  readonly fee?: bigint
}

/** Identifies a body, so that its repeats are recognized. */
export interface NamedBody extends Pick<NewTransaction, "body" | "externalId" | "identity"> {}

/** A limit of the fees in 24 hours of an API key and its descendants on networks of a type, in their smallest unit. */
export interface FeeLimit {
  readonly keyId: string
  readonly networkType: string
  readonly maximum: bigint
}

export interface Accepted {
  readonly stored: StoredTransaction
  /** False: its `external_id` was accepted before, with the same body. */
  readonly isNew: boolean
}
