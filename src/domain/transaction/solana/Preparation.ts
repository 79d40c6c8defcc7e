// What a signature needs to know of the chain, besides what the ledger has.
import type { RuleCode } from "./SolanaCode.ts"

/** What one attempt offers, and until when its bytes can land. */
export interface SolanaOffer {
  readonly blockhash: string
  /** The last block height at which the bytes can land. It does not rest on one provider. */
  readonly bound: number
  /** A slot before which the bytes cannot have landed. */
  readonly signedSlot: number
  /** Absent: the message has no limit, and the runtime takes its default. */
  readonly computeUnitLimit?: number
  /** Micro-lamports per compute unit. */
  readonly computeUnitPrice: bigint
  /** The blockhash was dead when a signature that was given away was taken over: no new bytes follow. */
  readonly isLast?: true
}

/**
 * The blockhash of the next bytes. `unavailable`: no two providers agree about one. `dead`: the blockhash that the request
 * brings is not valid at as many providers as must agree.
 */
export type Lifetime = Pick<SolanaOffer, "blockhash" | "bound" | "signedSlot"> | "unavailable" | "dead"

/**
 * Accounts that the rules read: lookup tables, and token accounts that the relayer spends from. `missing_table`: a table does
 * not exist, or is too short, at as many providers as must agree. `young_table`: the slot that extended it last is not finalized yet.
 */
export type Accounts =
  | "read"
  | "table_unavailable"
  | "young_table"
  | "missing_table"
  | "account_unavailable"
  | "price_unavailable"

/**
 * What simulations of the message say. `fails_alone`: it fails at one provider, and no other has an opinion. `broken`: the
 * relayer's accounts are not as the rules want them, in two looks at different blocks. `TableUnknown`: the node does not know an entry
 * of a lookup table yet.
 */
export type Simulated =
  | { readonly _tag: "Succeeds" | "Disagrees" | "FailsAlone" | "BrokenOnce" | "TableUnknown" | "Unknown" }
  | { readonly _tag: "Fails"; readonly error: string }
  | {
      readonly _tag: "Broken"
      readonly code: Extract<RuleCode, "lamports_out" | "fee_payer_changed" | "authority_changed" | "payment_missing">
    }

export interface Preparation {
  readonly lifetime: Lifetime
  readonly accounts: Accounts
  /** The slot that extended a lookup table last, if that is not finalized yet. */
  readonly extendedIn?: number
  /** The first rule that the message breaks, with its accounts resolved. Absent: none. */
  readonly broken?: RuleCode | "already_accepted"
  /** What is wrong with the payment of the user, or with its price. */
  readonly problem?: string
  /**
   * The fee in lamports at the lowest price that the network takes now, and at the price that is offered. `isOwn`: the cap is that of
   * the request or of its API key, which says nothing about others of the relayer.
   */
  readonly fee: { readonly floor: bigint; readonly offered: bigint; readonly cap: bigint; readonly isOwn?: true }
  readonly price: Pick<SolanaOffer, "computeUnitLimit" | "computeUnitPrice">
  /** Lamports that the request itself takes from the relayer. */
  readonly out: bigint
  /** Lamports that an account without data needs on the cluster. Absent: unknown. */
  readonly rent?: bigint
  /** Lamports on the account. Absent: unknown. */
  readonly balance?: bigint
  /** Absent: the request is not simulated. */
  readonly simulated?: Simulated
}
