// The family of stellar: its shapes, with the JSON in which the ledger stores them.
import { Schema, SchemaTransformation } from "effect"
import type { StellarNetwork } from "../../../domain/network/Network.ts"
import type { StellarRelayer } from "../../../domain/relayer/Relayer.ts"
import type { Family } from "../../core/Family.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { Memo, StellarOperation } from "./StellarRequests.ts"
import type {
  ReplaceStellarTransaction,
  SendStellarTransaction,
  StellarBuilding,
  StellarQuoting,
  StellarSigning
} from "./StellarRequests.ts"
import type { StellarNonceState, StellarSimulation, StellarTransactionResponse } from "./StellarResponses.ts"
import type { NodeAnswer, StellarSeen } from "./StellarSeen.ts"

/** Work of the service on channels of a lane. `addresses`: at most `channelsPerEnvelope`. */
export interface ChannelWork {
  /** `create`: the accounts are made. `merge`: their balance goes to the relayer, and they end. */
  readonly kind: "create" | "merge"
  readonly addresses: ReadonlyArray<string>
}

/** Work of the service for a call whose entries are archived: they are restored before the call is signed. */
interface RestoreWork {
  /** Id of the transaction that waits for it. */
  readonly for: string
  /** What that transaction calls. It is simulated again before each signature. */
  readonly call: StellarCall
}

type StellarCall = Pick<StellarRequest, "operations" | "transaction_xdr">

/** What a caller asked for. It has either `operations` or `transaction_xdr`. */
export interface StellarRequest {
  /** Only in transactions that the service makes itself, with `max_fee`. */
  readonly restore?: RestoreWork
  /** Only in transactions that the service makes itself. They have no other field. */
  readonly channels?: ChannelWork
  readonly operations?: ReadonlyArray<StellarOperation>
  readonly memo?: Memo
  /** An envelope in base64: unsigned, or the inner one of a fee bump. */
  readonly transaction_xdr?: string
  /** The user's signed authorization entry in base64. */
  readonly signed_auth_entry?: string
  /** Stroops that an envelope may cost in all. Absent: the policy's. */
  readonly max_fee?: bigint
  /** Stroops that it may take from accounts of the service, as the API key said when it was accepted. Absent: no limit. */
  readonly max_value?: bigint
  /** Whether the relayer pays to restore archived entries. */
  readonly restore_footprint?: boolean
  /** Whether it waits for funds until its deadline. */
  readonly wait_for_funds?: boolean
  /** As `TopUpRequest` has it. */
  readonly fails_without_funds?: true
}

/** A foreign account that has signed an envelope, for which the relayer only pays. */
export interface Guest {
  readonly account: string
  readonly sequence: bigint
  /** Hex. */
  readonly innerHash: string
  /** Unix seconds. */
  readonly maxTime: number
}

export interface StellarFacts {
  /** Hex: the name of the call that the service built for a user, who pays for it in a token. Absent: it is no such call. */
  readonly build?: string
  /** Absent: the relayer's own account acts. */
  readonly guest?: Guest
}

/** What an attempt offers, until when it is valid, and all that its bytes need besides the request and the place. */
export interface StellarOffer {
  /** Stroops of the whole fee: that of the outer envelope, if there is one. */
  readonly fee: bigint
  /** Stroops per operation. */
  readonly rate: bigint
  /** Stroops that the operations take from the relayer at most. */
  readonly out: bigint
  /** Stroops for resources, as the envelope declares them. */
  readonly resourceFee?: bigint
  /** Unix seconds. */
  readonly maxTime: number
  /** The first ledger that is too late. */
  readonly maxLedger?: number
  /** The lowest newest ledger of the asked providers before the first signature of the place. */
  readonly seenLedger: number
  /** Hex: of the inner envelope, if there is one. */
  readonly innerHash?: string
  /** Base64 of the Soroban data, and of the authorizations that a simulation recorded. The bytes have it: it is not stored. */
  readonly soroban?: Soroban
}

/** What a simulation gives to an envelope. */
interface Soroban {
  readonly data: string
  readonly recorded: ReadonlyArray<string>
}

/** What the newest answers of nodes were, if none took the bytes. */
export interface StellarRefusal {
  readonly class: "not_now" | "look" | "too_late" | "fee" | "funds" | "resources" | "permanent"
  /** Stroops: the fee that a node wants. */
  readonly needed?: bigint
  /** Name of the result. */
  readonly result?: string
  /** How often in a row nodes said `not_now`. */
  readonly times?: number
}

interface StellarReceiptDetails {
  /** `TransactionResult` in base64. */
  readonly result: string
  /** Name of the result of the transaction, such as `txSuccess`. Of a fee bump: that of the inner one. */
  readonly resultCode?: string
  /** Names of the results of the operations. */
  readonly operationResults?: ReadonlyArray<string>
  readonly contractError?: string
  /** Hex of the envelope that was applied: the inner one, if somebody else paid for it. */
  readonly hash: string
}

/** `creating`: no poll has seen its account yet. `draining`: no transaction may use it any more, and its account will end. */
export type ChannelStage = "creating" | "ready" | "draining"

/** What a lane remembers of an account besides its sequences. */
interface StellarCounters {
  /** Absent: the account of the relayer. */
  readonly stage?: ChannelStage
}

/** What policy, network and request allow. Amounts in stroops. */
export interface StellarPolicyTerms {
  readonly minBalance: bigint
  /** What an envelope may cost in all. */
  readonly cap: bigint
  /** Seconds for which an envelope of the relayer is valid. */
  readonly timeout: number
  /** Milliseconds without another provider's opinion after which one decides alone. */
  readonly finalityByOne: number | "never"
  /** Whether its transactions may use channels. */
  readonly usesChannels: boolean
}

/** A relayer and its network. */
export interface StellarTarget {
  readonly relayer: StellarRelayer
  readonly network: typeof StellarNetwork.Type
}

/** What one pass over the open transactions of a lane finds out. */
export interface StellarSurvey {
  /** Accounts of the lane where a transaction has a place, with the largest `maxTime` of its attempts, in unix seconds. */
  readonly taken: ReadonlyMap<string, number>
  /** Envelopes of foreign accounts that are in flight. */
  readonly guests: number
  /** Whether such envelopes wait: a transaction of the relayer does not hold them up. */
  readonly hasPendingGuests: boolean
}

/**
 * `prepare`: what a signature needs, as `Preparation` has it. `proof`: look-ups by all hashes of the present place, and, if none
 * is found, the scan of `rangeOf`, of each provider.
 */
type StellarQuestion = "prepare" | "proof"

export interface Stellar extends Family {
  readonly type: "stellar"
  readonly target: StellarTarget
  readonly body: SendStellarTransaction
  readonly replacement: ReplaceStellarTransaction
  readonly request: StellarRequest
  readonly facts: StellarFacts
  readonly offer: StellarOffer
  readonly refusal: StellarRefusal
  readonly details: StellarReceiptDetails
  readonly counters: StellarCounters
  readonly terms: StellarPolicyTerms
  readonly survey: StellarSurvey
  readonly seen: StellarSeen
  readonly question: StellarQuestion
  readonly answer: NodeAnswer
  readonly foreign: never
  readonly simulation: StellarSimulation
  readonly signing: StellarSigning
  readonly sequences: { readonly shown: StellarNonceState }
  readonly quote: StellarQuoting
  readonly build: StellarBuilding
  readonly shown: StellarTransactionResponse
}

declare module "../../core/Family.ts" {
  interface Families {
    readonly stellar: Stellar
  }
}

/** The moment of a time in unix seconds. */
export const momentOf = (seconds: number | bigint): Moment => Number(seconds) * 1000

// How the ledger stores what only stellar has: JSON in which amounts and sequences are strings of digits.

const Amount = Schema.BigIntFromString
const optional = Schema.optionalKey

const ChannelWorkJson = Schema.Struct({
  kind: Schema.Literals(["create", "merge"]),
  addresses: Schema.Array(Schema.String)
})

const callFields = {
  operations: optional(Schema.Array(StellarOperation)),
  transaction_xdr: optional(Schema.String)
}

export const RequestJson = Schema.Struct({
  restore: optional(Schema.Struct({ for: Schema.String, call: Schema.Struct(callFields) })),
  channels: optional(ChannelWorkJson),
  ...callFields,
  memo: optional(Memo),
  signed_auth_entry: optional(Schema.String),
  max_fee: optional(Amount),
  max_value: optional(Amount),
  restore_footprint: optional(Schema.Boolean),
  wait_for_funds: optional(Schema.Boolean),
  fails_without_funds: optional(Schema.Literal(true))
})

const GuestJson = Schema.Struct({
  account: Schema.String,
  sequence: Amount,
  innerHash: Schema.String,
  maxTime: Schema.Int
})

export const FactsJson = Schema.Struct({ guest: optional(GuestJson), build: optional(Schema.String) })

/** Without what only the signature needed: the bytes have it. */
export const OfferJson = Schema.Struct({
  fee: Amount,
  rate: Amount,
  out: Amount,
  resourceFee: optional(Amount),
  maxTime: Schema.Int,
  maxLedger: optional(Schema.Int),
  seenLedger: Schema.Int,
  innerHash: optional(Schema.String)
})

export const RefusalJson = Schema.Struct({
  class: Schema.Literals(["not_now", "look", "too_late", "fee", "funds", "resources", "permanent"]),
  needed: optional(Amount),
  result: optional(Schema.String),
  times: optional(Schema.Int)
})

export const CountersJson = Schema.Struct({
  stage: optional(Schema.Literals(["creating", "ready", "draining"]))
})

const DetailsJson = Schema.Struct({
  result: Schema.String,
  resultCode: optional(Schema.String),
  operationResults: optional(Schema.Array(Schema.String)),
  contractError: optional(Schema.String),
  hash: Schema.String
})

const StoredReceipt = Schema.Struct({
  ledger: Schema.Int,
  isSuccess: Schema.Boolean,
  paid: Amount,
  ...DetailsJson.fields
})

const ReceiptShape = Schema.Struct({
  height: Schema.Int,
  isSuccess: Schema.Boolean,
  paid: Schema.BigInt,
  details: DetailsJson
})

export const ReceiptJson = StoredReceipt.pipe(
  Schema.decodeTo(
    ReceiptShape,
    SchemaTransformation.transform({
      decode: ({ ledger, isSuccess, paid, ...details }: (typeof StoredReceipt)["Type"]) => ({
        height: ledger,
        isSuccess,
        paid,
        details
      }),
      encode: ({ height, details, ...receipt }: (typeof ReceiptShape)["Type"]) => ({
        ledger: height,
        ...receipt,
        ...details
      })
    })
  )
)
