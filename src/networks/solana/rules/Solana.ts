// The family of solana: its shapes, how the ledger stores them, and how a transaction is shown.
import { Schema, SchemaTransformation } from "effect"
import type { SolanaNetwork } from "../../../domain/network/Network.ts"
import type { SolanaRelayer } from "../../../domain/relayer/Relayer.ts"
import type { Family } from "../../core/Family.ts"
import {
  heightOf,
  present,
  shownAttempt,
  shownAttemptFields,
  shownFields,
  shownVersions
} from "../../core/Presentation.ts"
import type { Identity } from "../../core/Presentation.ts"
import { newestRequest } from "../../core/Transaction.ts"
import type { Attempt, Mined, Transaction } from "../../core/Transaction.ts"
import { Speed } from "../../core/TransactionValues.ts"
import type { GuardTerms } from "./Guard.ts"
import { base64Of, SolanaInstruction } from "./SolanaExchanges.ts"
import type {
  ReplaceSolanaTransaction,
  SendSolanaTransaction,
  SolanaBuilding,
  SolanaLaneState,
  SolanaQuoting,
  SolanaSigning,
  SolanaSimulation,
  SolanaTransactionResponse
} from "./SolanaExchanges.ts"
import type { KnownSignature, SolanaOffer, SolanaSeen } from "./SolanaSeen.ts"
import { explain } from "./SolanaWords.ts"

// What a node answers to a signed transaction. `SolanaRules.ts` says what it means.

export type NodeAnswer =
  | { readonly _tag: "Signature" }
  | { readonly _tag: "RpcError"; readonly code: number; readonly message: string; readonly data?: unknown }
  | { readonly _tag: "NoAnswer" }

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
  /** As `TopUpRequest` has it. */
  readonly fails_without_funds?: true
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
  /** Milliseconds between two slots. */
  readonly blockTime: number
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

declare module "../../core/Family.ts" {
  interface Families {
    readonly solana: Solana
  }
}

// How the ledger stores what only solana has: JSON in which amounts are strings of digits.

const Amount = Schema.BigIntFromString
const optional = Schema.optionalKey

export const RequestJson = Schema.Struct({
  transaction: optional(Schema.String),
  instructions: optional(Schema.Array(SolanaInstruction)),
  speed: optional(Speed),
  compute_unit_limit: optional(Schema.Int),
  compute_unit_price: optional(Amount),
  max_fee_lamports: optional(Amount),
  address_lookup_tables: optional(Schema.Array(Schema.String)),
  version: optional(Schema.Literal(1)),
  simulate: optional(Schema.Boolean),
  wait_for_funds: optional(Schema.Boolean),
  fails_without_funds: optional(Schema.Literal(true)),
  max_value: optional(Amount)
})

export const OfferJson = Schema.Struct({
  blockhash: Schema.String,
  bound: Schema.Int,
  signedSlot: Schema.Int,
  computeUnitLimit: optional(Schema.Int),
  computeUnitPrice: Amount,
  isLast: optional(Schema.Literal(true)),
  fee: Amount,
  out: Amount,
  taken: optional(Schema.String)
})

export const FactsJson = Schema.Struct({
  isPrebuilt: Schema.Boolean,
  isRefreshable: Schema.Boolean,
  given: optional(Schema.Struct({ hash: Schema.String, offer: optional(OfferJson) }))
})

export const CountersJson = Schema.Struct({
  anchor: optional(Schema.Struct({ hash: Schema.String, slot: Schema.Int })),
  restore: optional(Schema.Struct({ bound: Schema.Int, slot: optional(Schema.Int) })),
  since: optional(Schema.Struct({ slot: Schema.Int, hash: optional(Schema.String) }))
})

export const RefusalJson = Schema.Struct({ class: Schema.Literal("permanent") })

const Details = Schema.Struct({ error: optional(Schema.String) })

const StoredReceipt = Schema.Struct({ slot: Schema.Int, isSuccess: Schema.Boolean, paid: Amount, ...Details.fields })

const ReceiptShape = Schema.Struct({
  height: Schema.Int,
  isSuccess: Schema.Boolean,
  paid: Schema.BigInt,
  details: Details
})

export const ReceiptJson = StoredReceipt.pipe(
  Schema.decodeTo(
    ReceiptShape,
    SchemaTransformation.transform({
      decode: ({ slot, isSuccess, paid, ...details }: (typeof StoredReceipt)["Type"]) => ({
        height: slot,
        isSuccess,
        paid,
        details
      }),
      encode: ({ height, details, ...receipt }: (typeof ReceiptShape)["Type"]) => ({
        slot: height,
        ...receipt,
        ...details
      })
    })
  )
)

// How a solana transaction of the ledger is shown.

const attemptOf = (transaction: Transaction<Solana>, attempt: Attempt<Solana>) => {
  const { hash, kind, offer, maxFee, refusal } = attempt
  return {
    signature: hash,
    kind: kind === "refresh" ? ("refresh" as const) : ("original" as const),
    blockhash: offer.blockhash,
    last_valid_block_height: offer.bound,
    ...present("compute_unit_limit", offer.computeUnitLimit),
    compute_unit_price: offer.computeUnitPrice,
    max_fee: maxFee,
    ...shownAttemptFields(attempt, refusal),
    ...present("slot", heightOf(transaction, attempt))
  }
}

const versionOf = ({
  transaction,
  instructions,
  speed,
  compute_unit_limit,
  compute_unit_price,
  max_fee_lamports
}: SolanaRequest) => ({
  ...present("transaction", transaction),
  ...present("instructions", instructions),
  ...present("speed", speed),
  ...present("compute_unit_limit", compute_unit_limit),
  ...present("compute_unit_price", compute_unit_price),
  ...present("max_fee_lamports", max_fee_lamports)
})

const parse = Schema.decodeSync(Schema.fromJsonString(Schema.Json))

const receiptOf = ({ receipt: { height, paid, details } }: Mined<Solana>) => ({
  slot: height,
  fee_paid: paid,
  ...(details.error === undefined ? {} : { error: parse(details.error) })
})

/** `raw`: the bytes of the attempt that is shown. Absent: nothing was signed. */
export const showTransaction = (
  transaction: Transaction<Solana>,
  identity: Identity,
  raw?: Uint8Array
): SolanaTransactionResponse => {
  const { attempts, mined } = transaction
  return {
    ...shownFields(explain, transaction, identity),
    network_type: "solana",
    transaction: raw === undefined ? "" : base64Of(raw),
    ...present("signature", shownAttempt(transaction)?.hash),
    ...present("instructions", newestRequest(transaction).instructions),
    ...(attempts.length === 0 ? {} : { attempts: attempts.map((one) => attemptOf(transaction, one)) }),
    ...shownVersions(transaction, identity, versionOf),
    ...(mined === undefined ? {} : receiptOf(mined))
  }
}
