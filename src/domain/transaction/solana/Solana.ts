// The family of solana: its shapes.
import type { SolanaNetwork } from "../../network/Network.ts"
import type { SolanaRelayer } from "../../relayer/Relayer.ts"
import type { Family } from "../Family.ts"
import type { Speed } from "../TransactionValues.ts"
import type { GuardTerms } from "./Guard.ts"
import type { NodeAnswer } from "./NodeAnswer.ts"
import type { ReplaceSolanaTransaction, SendSolanaTransaction, SolanaInstruction } from "./SendSolanaTransaction.ts"
import type { SolanaBuilding, SolanaQuoting, SolanaSigning } from "./SolanaExchanges.ts"
import type { SolanaLaneState } from "./SolanaLaneState.ts"
import type { SolanaOffer } from "./Preparation.ts"
import type { KnownSignature } from "./Look.ts"
import type { SolanaSeen } from "./SolanaSituation.ts"
import type { SolanaSimulation } from "./SolanaSimulation.ts"
import type { SolanaTransactionResponse } from "./SolanaTransactionResponse.ts"

/** What a caller asked for. It has either `transaction` or `instructions`. */
export interface SolanaRequest {
  /** A prebuilt transaction as base64. */
  readonly transaction?: string
  readonly instructions?: ReadonlyArray<SolanaInstruction>
  readonly speed?: Speed
  readonly compute_unit_limit?: number
  /** Micro-lamports. */
  readonly compute_unit_price?: bigint
  /** Lamports. */
  readonly max_fee_lamports?: bigint
  readonly address_lookup_tables?: ReadonlyArray<string>
  /** Version of the message that is built. Absent: the legacy form, or version 0 with lookup tables. */
  readonly version?: 1
  /** Absent: it is simulated. */
  readonly simulate?: boolean
  /** Whether it waits for funds until its deadline. */
  readonly wait_for_funds?: boolean
  /**
   * Lamports that the API key allows it to spend: its `max_value` when the request came. Some instructions name no mint, so that
   * only accounts of the chain say whether they spend lamports. Absent: no limit.
   */
  readonly max_value?: bigint
}

interface SolanaFacts {
  /** Whether the request brings its own blockhash. */
  readonly isPrebuilt: boolean
  /** Whether the blockhash may be exchanged: the relayer is the only signer, and the request allows it. */
  readonly isRefreshable: boolean
  /** The relayer's signature of these bytes, which somebody has. Absent: nobody has one. */
  readonly given?: SolanaGiven
}

/** A signature that the service gave to a caller. Without an offer, only the caller knows it: the ledger has forgotten it. */
interface SolanaGiven {
  /** Base58. */
  readonly hash: string
  readonly offer?: SolanaPriced
}

/** What a lane remembers of its account on the chain. */
export interface SolanaCounters {
  /** The newest own signature that is known as finalized. A list of the address that lacks it is behind. */
  readonly anchor?: KnownSignature
  /** What follows after a copy of the database was put back. The service forgets it when the next copy is put back. */
  readonly restore?: SolanaRestore
  /** From where the list of the address is read for it. The next copy that is put back continues with it, until a list was read. */
  readonly since?: RestoredSince
}

/**
 * The newest own signature that was finalized when a copy was put back: what the copy does not know has landed after it. Without a
 * signature, the whole list is read.
 */
export interface RestoredSince {
  readonly slot: number
  readonly hash?: string
}

export interface SolanaRestore {
  /** The last block height at which bytes of the lost process can land. */
  readonly bound: number
  /** The slot up to which the list of the address was read and compared, above the bound. Absent: not yet. */
  readonly slot?: number
}

/** What an attempt offers, and what it costs at most. */
interface SolanaPriced extends SolanaOffer {
  /** The signature of bytes that exist already: nothing is signed. */
  readonly taken?: string
  /** Lamports of its fee at most. */
  readonly fee: bigint
  /** Lamports that the request itself takes from the relayer at most. */
  readonly out: bigint
}

/** Why nodes refused the bytes for good. */
interface SolanaRefusal {
  readonly class: "permanent"
}

interface SolanaReceiptDetails {
  /** The error of the chain as JSON text. Absent: it succeeded. */
  readonly error?: string
}

export interface SolanaPolicyTerms {
  /** Lamports that must stay on the account. */
  readonly minBalance: bigint
  /** What the rules of the fee payer allow. */
  readonly guard: GuardTerms
  /** Milliseconds without another provider's opinion after which one decides alone. */
  readonly finalityByOne: number | "never"
  /** Whether a payment of the user covers the fee. */
  readonly isSponsored: boolean
}

/** A relayer and its network. */
export interface SolanaTarget {
  readonly relayer: SolanaRelayer
  readonly network: typeof SolanaNetwork.Type
}

export interface Solana extends Family {
  readonly type: "solana"
  readonly target: SolanaTarget
  readonly body: SendSolanaTransaction
  readonly replacement: ReplaceSolanaTransaction
  readonly request: SolanaRequest
  readonly facts: SolanaFacts
  readonly offer: SolanaPriced
  readonly refusal: SolanaRefusal
  readonly details: SolanaReceiptDetails
  readonly counters: SolanaCounters
  readonly terms: SolanaPolicyTerms
  readonly survey: undefined
  readonly seen: SolanaSeen
  readonly question: "prepare" | "proof" | "life"
  readonly answer: NodeAnswer
  readonly foreign: never
  readonly simulation: SolanaSimulation
  readonly signing: SolanaSigning
  readonly sequences: { readonly shown: SolanaLaneState }
  readonly quote: SolanaQuoting
  readonly build: SolanaBuilding
  readonly shown: SolanaTransactionResponse
}

declare module "../Family.ts" {
  interface Families {
    readonly solana: Solana
  }
}
