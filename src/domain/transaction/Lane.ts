// A lane, also called an account's queue: the order in which transactions of one account are signed and sent.
import type { Array as Arr } from "effect"
import type { KnownCode } from "./Code.ts"
import type { Family } from "./Family.ts"
import type { Moment } from "./Moment.ts"

/** An account whose sequences the lane gives away. Always `settledSequence <= chainSequence <= nextSequence`. */
export interface LaneAccount<F extends Family = Family> {
  /** In the canonical form of the network. */
  readonly address: string
  /** The sequence that is given away next. */
  readonly nextSequence: bigint
  /** The lowest sequence that the chain has not used, as it was last believed. */
  readonly chainSequence: bigint
  /** The block at which `chainSequence` was read. Absent: no poll in this generation yet. */
  readonly chainBlock?: { readonly number: number; readonly hash: string }
  /** Everything below it is final. */
  readonly settledSequence: bigint
  /** Absent: the network remembers nothing else. */
  readonly counters?: F["counters"]
}

/** What the ledger has of a lane. */
export interface Lane<F extends Family = Family> {
  readonly generation: number
  /** Transactions that may be in flight at once, at present. */
  readonly windowSize: number
  /** The first one is the relayer's own. */
  readonly accounts: Arr.NonEmptyReadonlyArray<LaneAccount<F>>
}

/** The account with this address. Undefined: it is a foreign one. */
export const accountAt = <F extends Family>({ accounts }: Lane<F>, address: string): LaneAccount<F> | undefined =>
  accounts.find((account) => account.address === address)

/** The lane after an account has changed. */
export const withAccount = <F extends Family>(lane: Lane<F>, changed: LaneAccount<F>): Lane<F> => {
  const [first, ...others] = lane.accounts
  const replaced = (account: LaneAccount<F>) => (account.address === changed.address ? changed : account)
  return { ...lane, accounts: [replaced(first), ...others.map(replaced)] }
}

/** What a relayer's policy means for one of its transactions now. Amounts in the smallest unit of the chain. */
export type PolicyTerms<F extends Family = Family> = F["terms"] & {
  /** Whether the policy still allows the transaction. */
  readonly isAllowed: boolean
  /** What must stay on the account. */
  readonly minBalance: bigint
}

/** An API key gets no signature: too many of its newest transactions failed on the chain, and the relayer paid for them. */
export interface KeyHold {
  readonly failed: number
  /** The number of newest transactions that were counted. */
  readonly of: number
  readonly until: Moment
}

/** What a relayer's policy and state, and the limits of the API key, mean for one of its transactions now. */
export type Terms<F extends Family = Family> = PolicyTerms<F> & {
  readonly isPaused: boolean
  /** Why the service has disabled the relayer, as a code. A lack of funds or of the account disables nothing here: polls decide. */
  readonly disabled?: "relayer_disabled" | "providers_unavailable" | "chain_changed"
  /** What the limits of the API key leave for the fees of this transaction. Absent: no limit. */
  readonly feeLimit?: bigint
  /** Absent: the API key is not held. */
  readonly keyHold?: KeyHold
}

/** The rest of the lane, as one of its open transactions sees it. */
export interface RestOfLane<F extends Family = Family> {
  /** Transactions of the lane in flight, this one included. */
  readonly inFlight: number
  /** What the others in flight can cost at most, in the smallest unit of the chain. */
  readonly reserved: bigint
  /** Whether another transaction of the lane is pending that could get a sequence below the required one. */
  readonly isPendingBefore: boolean
  /** When a transaction of the lane last got a place. Absent: not in memory. */
  readonly lastSignedAt?: Moment | undefined
  /** Since when nothing of the lane is in flight. Absent: something is. */
  readonly quietSince?: Moment | undefined
  readonly survey: F["survey"]
}

/**
 * `throttled`: the key service of the signer accepts no more requests now. `row_changed`: the row of the signer differs from
 * what the service wrote.
 */
export interface SignerRetry {
  readonly code: Extract<KnownCode, "signer_unavailable" | "throttled" | "row_changed">
  readonly at: Moment
}

/** The window after a node has refused a transaction because the account has too many. */
export const halved = (size: number): number => Math.max(Math.floor(size / 2), 1)

/** The window after `blocks` in each of which a transaction of the lane was mined. */
export const grown = (size: number, blocks: number, limit: number): number => Math.min(size + blocks, limit)
