// A lane: the nonces of one account on one chain, and what it knows of all its transactions when it decides about one.
import type { Cause } from "./Cause.ts"
import type { Moment } from "./Moment.ts"
import type { NetworkNumbers } from "./NetworkNumbers.ts"
import type { Speed } from "./Speed.ts"

/** What the ledger has of a lane. Always `settledNonce <= chainNonce <= nextNonce`. */
export interface Lane {
  /** Lower-case hex. */
  readonly address: string
  readonly generation: number
  /** The nonce that is assigned next. */
  readonly nextNonce: number
  /** The highest count that was believed. Falls only with a reorganisation that was seen, or with a correction. */
  readonly chainNonce: number
  /** The block at which `chainNonce` was read. Absent: no poll in this generation yet. */
  readonly chainBlock?: { readonly number: number; readonly hash: string }
  /** Every transaction below it is final. Falls only after a reorganisation deeper than what counts as final. */
  readonly settledNonce: number
  /** Transactions that may be in flight at once, at present. */
  readonly windowSize: number
}

/** What a relayer's policy and state mean for its transactions now. */
export interface Terms {
  readonly isPaused: boolean
  /** Why the service has disabled the relayer, as a code. A lack of funds disables nothing here: the balance decides. */
  readonly disabled?: "relayer_disabled" | "providers_unavailable" | "chain_changed"
  /** Wei per gas. Absent: no cap. */
  readonly cap?: bigint
  /** Wei that must stay on the account. */
  readonly minBalance: bigint
  /** Whether prices without given fees are EIP-1559. */
  readonly isEip1559: boolean
  /** Whether policy and the limits of the API key still allow the transaction. */
  readonly isAllowed: boolean
  /** Wei that the limits of the API key leave for the fees of this transaction. Absent: no limit. */
  readonly feeLimit?: bigint
}

/** Other open transactions of the lane, as one of them sees them. */
export interface Others {
  /** Transactions of the lane in flight, this one included. */
  readonly inFlight: number
  /** Wei that the others in flight can cost at most. */
  readonly reserved: bigint
  /** The most urgent speed of this transaction and those behind it. */
  readonly urgency: Speed
  /** Whether another transaction of the lane is pending that could get a nonce below the required one. */
  readonly isPendingBefore: boolean
  /** When a transaction of the lane last got a nonce. Absent: not in memory. */
  readonly lastSignedAt?: Moment | undefined
  /** Since when nothing of the lane is in flight. Absent: something is. */
  readonly quietSince?: Moment | undefined
  /** Whether nodes have accepted every transaction of the lane in flight with a lower nonce. */
  readonly arePredecessorsAccepted: boolean
}

/**
 * `throttled`: the key service of the signer accepts no more requests now. `row_changed`: the row of the signer differs from
 * what the service wrote.
 */
export interface SignerRetry {
  readonly code: "signer_unavailable" | "throttled" | "row_changed"
  readonly at: Moment
}

export interface LaneSituation {
  readonly lane: Lane
  readonly network: NetworkNumbers
  readonly terms: Terms
  readonly others: Others
  /** What keeps the whole lane from assigning nonces. */
  readonly stop?: Cause
  /** Whether a final transaction's nonce is open again. */
  readonly isDeepReorg: boolean
  /** Why the signer cannot sign, and when it is asked again. Absent: it can. */
  readonly signerRetry?: SignerRetry
}
