// An envelope as plain data: what the guard reads. `server/chains/stellar/` makes it from XDR.
import { allowableOperations } from "../../relayer/Policy.ts"
import type { ScVal } from "./ScVal.ts"
import { poolShareEntries } from "./StellarNumbers.ts"

/** An account. A muxed spelling of it has an id beside the key. */
export interface Party {
  /** `G…`, also for a muxed spelling. */
  readonly address: string
  readonly isMuxed: boolean
}

/** `native`, `CODE:ISSUER`, or `pool` for a share of a liquidity pool. */
export type AssetName = string

/** A call in a tree of calls that an account authorizes. */
export interface Invocation {
  /** Undefined: the creation of a contract. */
  readonly call?: Call
  readonly below: ReadonlyArray<Invocation>
}

export interface Call {
  readonly contract: string
  readonly name: string
  /** Undefined: a value that only contracts have, such as their instance. */
  readonly args: ReadonlyArray<ScVal | undefined>
}

export type Credentials =
  | { readonly kind: "source" }
  | {
      /** Of any version: `ADDRESS`, `ADDRESS_V2` and `ADDRESS_WITH_DELEGATES` (CAP-71). */
      readonly kind: "address"
      readonly address: string
      readonly untilLedger: number
      /** Addresses that sign for it, and those that sign for them. */
      readonly delegates: ReadonlyArray<string>
    }
  | { readonly kind: "unsupported"; readonly name: string }

/** The addresses that credentials name. Those of the source name none. */
export const signersOf = (credentials: Credentials): ReadonlyArray<string> =>
  credentials.kind === "address" ? [credentials.address, ...credentials.delegates] : []

export interface AuthEntry {
  /** Base64 of the whole entry. */
  readonly xdr: string
  /** Base64 of the entry without its signature. */
  readonly unsigned: string
  readonly credentials: Credentials
  readonly root: Invocation
}

export type HostFunction =
  | { readonly kind: "call"; readonly call: Call }
  | { readonly kind: "creation" }
  | { readonly kind: "upload" }

/** An amount that an operation takes from its source or locks there. */
export interface Taken {
  readonly asset: AssetName
  readonly amount: bigint
}

type OperationBody =
  | { readonly type: "payment"; readonly destination: Party; readonly asset: AssetName; readonly amount: bigint }
  | {
      readonly type: "pathPaymentStrictReceive" | "pathPaymentStrictSend"
      readonly destination: Party
      readonly sendAsset: AssetName
      /** The most that it takes. */
      readonly sendMax: bigint
    }
  | { readonly type: "changeTrust"; readonly asset: AssetName; readonly limit: bigint }
  | { readonly type: "invokeHostFunction"; readonly host: HostFunction; readonly auth: ReadonlyArray<AuthEntry> }
  | {
      readonly type: OtherOperation
      readonly takes: ReadonlyArray<Taken>
      /** Accounts that can get what it takes. */
      readonly receivers: ReadonlyArray<string>
    }

/** Operations of which the guard only needs to know what they take. */
const otherOperations = [
  ...allowableOperations,
  "setOptions",
  "accountMerge",
  "inflation",
  "bumpSequence",
  "extendFootprintTtl",
  "restoreFootprint"
] as const
type OtherOperation = (typeof otherOperations)[number]

/** `source` is absent if it is that of the transaction. */
export type Operation = OperationBody & { readonly source?: Party }

/** A signature whose hint fits an account that was asked for. */
export interface CheckedSignature {
  readonly address: string
  readonly isValid: boolean
}

export interface TransactionEnvelope {
  readonly kind: "transaction"
  /** Hex. */
  readonly hash: string
  readonly source: Party
  /** Stroops. */
  readonly fee: bigint
  readonly sequence: bigint
  /** Unix seconds. 0 as `maxTime`: for ever. */
  readonly timeBounds?: { readonly minTime: bigint; readonly maxTime: bigint }
  /** 0 as `maxLedger`: none. */
  readonly ledgerBounds?: { readonly minLedger: number; readonly maxLedger: number }
  /** Names of preconditions that relax the sequence, or demand more than the service knows. */
  readonly preconditions: ReadonlyArray<string>
  readonly hasMemo: boolean
  readonly operations: ReadonlyArray<Operation>
  /** Stroops that the transaction declares for its resources. Absent without Soroban data. */
  readonly resourceFee?: bigint
  readonly signatureCount: number
  readonly signatures: ReadonlyArray<CheckedSignature>
}

/** An envelope of a kind that the service never signs, or a transaction. */
export type Envelope = TransactionEnvelope | { readonly kind: "feeBump" } | { readonly kind: "v0" }

/** `trust(address)` of the contract of an asset makes a trust line (CAP-73). No other function of a contract adds an entry to an account. */
const trustIn = ({ below, call }: Invocation): ReadonlyArray<string> => [
  ...(call?.name === "trust" && call.args.length === 1 ? [call.contract] : []),
  ...below.flatMap(trustIn)
]

/** The contracts whose `trust` the source of the envelope authorizes, each as often as it does. */
export const trustedContracts = ({ operations }: Pick<TransactionEnvelope, "operations">): ReadonlyArray<string> =>
  operations.flatMap((operation) =>
    operation.type === "invokeHostFunction"
      ? operation.auth.flatMap(({ credentials, root }) => (credentials.kind === "source" ? trustIn(root) : []))
      : []
  )

/**
 * Entries that an operation adds to its account at most. For each, the account locks a base reserve. Calls of `assets`, contracts that may
 * be those of assets, count by what the account authorizes: a contract can do more when it is applied than its simulation showed.
 */
export const entriesAddedBy = (operation: Operation, assets: ReadonlySet<string> = new Set()): number => {
  if (operation.type === "invokeHostFunction") {
    return trustedContracts({ operations: [operation] }).filter((contract) => assets.has(contract)).length
  }
  if (operation.type !== "changeTrust" || operation.limit <= 0n) return 0
  return operation.asset === "pool" ? poolShareEntries : 1
}

const sorobanTypes: ReadonlySet<string> = new Set(["invokeHostFunction", "extendFootprintTtl", "restoreFootprint"])

export const isSoroban = ({ type }: Operation): boolean => sorobanTypes.has(type)
