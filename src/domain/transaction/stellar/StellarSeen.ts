// What a poll has seen of the chain for one transaction, and what the question `prepare` has added.
import type { Moment } from "../TransactionValues.ts"
import type { LedgerPoint, Testimony } from "./Evidence.ts"
import type { FeeStats } from "./Fees.ts"
import type { LedgerSettings } from "./LedgerSettings.ts"
import type { Refusal } from "./Refusal.ts"
import type { PricedPayment } from "./SponsoredPayment.ts"

/** An account as its entry has it. Amounts in stroops. */
export interface AccountEntry {
  readonly balance: bigint
  readonly sellingLiabilities: bigint
  readonly subentries: number
  readonly sponsoring: number
  readonly sponsored: number
  /** Weight of the account's own key, and what payments need. */
  readonly masterWeight: number
  readonly mediumThreshold: number
}

/** What one provider says. Answers are never mixed between providers. */
export interface ProviderLook {
  /** Masked. */
  readonly host: string
  /** Whether its ledgers stand still while those of others move, or it does not answer. */
  readonly isStalled: boolean
  /** Absent: it did not say. */
  readonly newest?: LedgerPoint
  /**
   * About the account whose sequence counts: that of the place, else the guest's, else the one where the lane would sign next.
   * `found` and `scan` only after the question `proof`.
   */
  readonly testimony: Testimony
  /** The relayer's own account, which pays. Absent: it was not read. Null: it does not exist. */
  readonly payer?: AccountEntry | null
}

/** What the simulations of a call say, of as many providers as must agree. */
export type SorobanView =
  | {
      readonly _tag: "Succeeds"
      /** Stroops, as the provider with the highest one says: `minResourceFee`. */
      readonly resourceFee: bigint
      /** Base64, with the margins of `resourceMargin`. */
      readonly data: string
      /** Base64 of the authorizations that it recorded, of the addresses that the request names. */
      readonly recorded: ReadonlyArray<string>
      /** The lowest ledger at which an authorization with an address expires. Absent: none expires. */
      readonly untilLedger?: number
    }
  | { readonly _tag: "Fails"; readonly error: string }
  | {
      readonly _tag: "NeedsRestore"
      /** Stroops that the restore needs, and base64 of its data, with the margins of `resourceMargin`. */
      readonly fee: bigint
      readonly data: string
      /** Stroops that the call needs afterwards. */
      readonly resourceFee: bigint
    }
  /** `Disagrees`: it fails at one provider only. `FailsAlone`: no other provider has an opinion. */
  | { readonly _tag: "Disagrees" | "FailsAlone" | "Unknown" }

/** A payment whose accounts are in order. `NoPrice`: there is no price now. `Unreadable`: no provider shows its accounts. */
export type PaymentView = ({ readonly _tag: "Priced" } & PricedPayment) | { readonly _tag: "NoPrice" | "Unreadable" }

/** A provider whose simulation does not show what a call changes of accounts of the service, while no other one answers. */
export interface Hiding {
  /** Masked. */
  readonly host: string
  /** Whether no other one is configured. */
  readonly isOnlyOne: boolean
}

/** The answer to the question `prepare`. */
export interface Preparation {
  /** The work of the service is already done, or is not needed any more. */
  readonly isObsolete?: true
  /** The first rule of the guard that the envelope breaks now, those that need the chain included. */
  readonly broken?: Refusal
  /** What one provider alone does not show of a call, as the guard refuses it. */
  readonly unshown?: Hiding & { readonly detail: string }
  /** How many operations the envelope has. The inner one, if there is one. */
  readonly operations: number
  /** Stroops that the operations take from the relayer at most, as the limits of keys count them. */
  readonly out: bigint
  /** The fee of the inner envelope that a guest has signed, and what it declares for resources. */
  readonly inner?: { readonly fee: bigint; readonly resourceFee?: bigint }
  /** Stroops per operation at least, as the network has voted. Absent: no provider says. */
  readonly baseFee?: bigint
  /** Of classic or of Soroban transactions, whichever this is. Absent: no provider says. */
  readonly stats?: FeeStats
  /** Absent: it is not a call. */
  readonly soroban?: SorobanView
  /** What the user of a fee bump pays. Absent: the policy needs no payment. */
  readonly payment?: PaymentView
}

/** Where an envelope can be applied that a caller got signed. */
export interface GivenPlace {
  /** Hex. */
  readonly hash: string
  readonly sequence: bigint
  /** Unix seconds. */
  readonly maxTime: number
}

export interface StellarSeen {
  readonly _tag: "Seen"
  /** Providers that are configured. */
  readonly configured: number
  /** In the order of the lane. */
  readonly looks: ReadonlyArray<ProviderLook>
  /** Since when only one provider has an opinion. Absent: another one has. */
  readonly aloneSince?: Moment
  /** When a new ledger was last seen. */
  readonly newestSince: Moment
  /** What the network has voted. Absent: those of the public network count. */
  readonly settings?: LedgerSettings
  /** Signatures that callers got, at sequences of the relayer's own account that are not used yet. Absent: there are none. */
  readonly given?: ReadonlyArray<GivenPlace>
  /** Whether the question `proof` was asked in this look. */
  readonly isProofAsked?: true
  /** The answer to the question `prepare`. */
  readonly preparation?: Preparation
}
