// An envelope as plain data, with the rules that hold for every one: those of the guard, and the limits of API keys.
// `networks/stellar/chain/` makes it from XDR.
import { Result } from "effect"
import { allowableOperations, contractCreation } from "../../../domain/relayer/Policy.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { lateSlack, maxOperations, poolShareEntries } from "./StellarNumbers.ts"
import { accountMeantBy } from "../../../domain/chain/StrKey.ts"
import { fromParts } from "./StellarValues.ts"
import type { ScVal } from "./StellarValues.ts"

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

// Why an envelope is not signed: a code for programs, and a detail for people.

export type RefusalCode =
  // The text and its kind
  | "xdr_encoding"
  | "xdr_invalid"
  | "xdr_not_canonical"
  | "xdr_kind"
  | "xdr_signed"
  | "xdr_unsigned"
  // The transaction
  | "operation_count"
  | "operation_not_allowed"
  | "operation_source"
  | "soroban_not_alone"
  | "memo"
  | "muxed_source"
  | "source_account_mismatch"
  | "source_is_own"
  | "sponsoring_only"
  | "preconditions_unsupported"
  | "time_bounds_missing"
  | "time_bounds_too_long"
  | "time_bounds_past"
  | "time_bounds_future"
  | "too_many_subentries"
  // Authorizations and signatures
  | "auth_kind_unsupported"
  | "auth_of_own_account"
  | "auth_not_granted"
  | "auth_expired"
  | "signature_invalid"
  | "signed_by_own"
  | "not_built_here"
  // Costs
  | "resource_fee"
  | "resource_fee_too_high"
  | "fee_above_cap"
  | "balance_change"
  | "payment_insufficient"
  | "fee_token_clawback"
  // The chain
  | "sequence_used"
  | "would_fail"
  // The API key
  | "key_limits"

export interface Refusal {
  readonly code: RefusalCode
  readonly detail: string
}

export const refuse = (code: RefusalCode, detail: string): Result.Result<never, Refusal> =>
  Result.fail({ code, detail })

/** A rule that finds nothing wrong returns undefined. */
export const refusal = (code: RefusalCode, detail: string): Refusal => ({ code, detail })

/** As a response shows it: `transaction_xdr: operation_not_allowed: operation 2 is accountMerge`. */
export const violationOf = ({ code, detail }: Refusal, field = "transaction_xdr"): Violation => ({
  field,
  message: `${code}: ${detail}`
})

// Rules of the guard that hold for every envelope, independent of the account that is its source.

/** What the guard compares an envelope with. */
export interface GuardTerms {
  /** Address of the relayer. */
  readonly relayer: string
  /** The channel whose sequence the envelope uses. Absent: it uses that of the relayer. */
  readonly channel?: string
  /** Accounts of all relayers and channels of the service on this network. */
  readonly own: ReadonlySet<string>
  /** The contract that takes fees of users in tokens. Absent: the network has none. */
  readonly forwarder?: string
  /** Address of the native asset's contract, which follows from the passphrase. */
  readonly nativeContract: string
  /** Unix seconds. */
  readonly now: number
  readonly strategy: "relayer" | "user"
  /** Operations that the policy allows beside the default ones. */
  readonly allowedOperations: ReadonlyArray<string>
  /** Assets that users may pay with: `CODE:ISSUER`. */
  readonly allowedTokens: ReadonlyArray<string>
  readonly maxSubentries: number
  /** Stroops that an account locks per entry (`LedgerHeader.baseReserve`). */
  readonly baseReserve: bigint
  /** Contracts of which the envelope authorizes `trust`, and that may be those of assets. Absent: a lane reads it of the chain. */
  readonly assetContracts?: ReadonlySet<string>
  /** Seconds that the time bounds of a foreign envelope may lie ahead. */
  readonly timeLimit: number
  /** Stroops that an envelope may cost, and the rate per operation that is bid now. */
  readonly cap: bigint
  readonly rate: bigint
}

export type GuardRule = (envelope: TransactionEnvelope, terms: GuardTerms) => Refusal | undefined

/** The first rule that an envelope breaks. */
export const firstBroken = (
  rules: ReadonlyArray<GuardRule>,
  envelope: TransactionEnvelope,
  terms: GuardTerms
): Refusal | undefined => {
  for (const rule of rules) {
    const broken = rule(envelope, terms)
    if (broken !== undefined) return broken
  }
  return undefined
}

/** The first operation of which a rule says something. Operations are counted from 1. */
export const eachOperation =
  (rule: (operation: Operation, number: number, terms: GuardTerms) => Refusal | undefined): GuardRule =>
  ({ operations }, terms) => {
    for (const [index, operation] of operations.entries()) {
      const broken = rule(operation, index + 1, terms)
      if (broken !== undefined) return broken
    }
    return undefined
  }

const count: GuardRule = ({ operations: { length } }) =>
  length >= 1 && length <= maxOperations
    ? undefined
    : refusal("operation_count", `expected 1 to ${maxOperations} operations, found ${length}`)

const sorobanAlone: GuardRule = ({ operations }) =>
  operations.length > 1 && operations.some(isSoroban)
    ? refusal("soroban_not_alone", "a call of a contract must be the only operation")
    : undefined

const sorobanMemo: GuardRule = ({ hasMemo, operations }) =>
  hasMemo && operations.some(isSoroban)
    ? refusal("memo", "Soroban operations cannot have a memo (except MemoNone)")
    : undefined

const muxedSource: GuardRule = ({ source }) =>
  source.isMuxed ? refusal("muxed_source", "the source must be an address G…, not a muxed one") : undefined

const preconditions: GuardRule = ({ ledgerBounds, preconditions: [first] }) => {
  const found = first ?? (ledgerBounds !== undefined && ledgerBounds.minLedger > 0 ? "minLedger" : undefined)
  return found === undefined ? undefined : refusal("preconditions_unsupported", `${found} is not supported`)
}

const resources: GuardRule = ({ resourceFee = 0n }) =>
  resourceFee < 0n ? refusal("resource_fee", "the fee of the resources must not be negative") : undefined

/** Since protocol 23, the envelope in a fee bump may pay less: the fee bump pays for the resources. */
export const paidResources: GuardRule = ({ fee, resourceFee = 0n }) =>
  resourceFee > fee
    ? refusal("resource_fee", `the fee of the resources must be at most ${fee}, the fee of the transaction`)
    : undefined

const authKind = eachOperation((operation, number) => {
  if (operation.type !== "invokeHostFunction") return undefined
  for (const { credentials } of operation.auth) {
    if (credentials.kind === "unsupported") {
      return refusal("auth_kind_unsupported", `operation ${number} has credentials of the kind ${credentials.name}`)
    }
  }
  return undefined
})

/** Credentials that name one of the service's accounts, also as a delegate. Nothing signs for them. */
const authOfOwn = eachOperation((operation, number, { own }) => {
  if (operation.type !== "invokeHostFunction") return undefined
  const found = operation.auth.some(({ credentials }) => signersOf(credentials).some((address) => own.has(address)))
  return found
    ? refusal("auth_of_own_account", `operation ${number} has an authorization of an account of this service`)
    : undefined
})

export const commonRules: ReadonlyArray<GuardRule> = [
  count,
  sorobanAlone,
  sorobanMemo,
  muxedSource,
  preconditions,
  resources,
  authKind,
  authOfOwn
]

/** The envelope is sent by others, or its sequence is theirs: it must die soon. */
export const timeBounds: GuardRule = ({ timeBounds: bounds }, { now, timeLimit }) => {
  if (bounds === undefined || bounds.maxTime === 0n)
    return refusal("time_bounds_missing", "the envelope needs a maxTime")
  if (bounds.maxTime <= BigInt(now + lateSlack)) {
    return refusal("time_bounds_past", `maxTime must be more than ${lateSlack} seconds ahead`)
  }
  if (bounds.maxTime > BigInt(now + timeLimit)) {
    return refusal("time_bounds_too_long", `maxTime must be at most ${timeLimit} seconds ahead`)
  }
  return bounds.minTime > BigInt(now) ? refusal("time_bounds_future", "minTime must not be in the future") : undefined
}

// What an envelope takes from the service's accounts, for the limits of API keys.

/** The part of a key's limits for stellar. */
export interface KeyLimits {
  /** Stroops. */
  readonly maxValue?: bigint
  /** `G…`, `M…`, which means its account, or `C…`. */
  readonly receivers?: ReadonlyArray<string>
}

export interface Sends {
  /** Stroops of XLM. */
  readonly value: bigint
  readonly receivers: ReadonlyArray<string>
  /** Contracts below the root of an authorization, other than that of the native asset. */
  readonly below: ReadonlyArray<string>
  /** A call of the native asset's contract whose effect cannot be read. */
  readonly unreadable: ReadonlyArray<string>
}

const noSends: Sends = { value: 0n, receivers: [], below: [], unreadable: [] }

const sumOfSends = (all: ReadonlyArray<Sends>): Sends => ({
  value: all.reduce((total, { value }) => total + value, 0n),
  receivers: all.flatMap(({ receivers }) => receivers),
  below: all.flatMap(({ below }) => below),
  unreadable: all.flatMap(({ unreadable }) => unreadable)
})

const addressOf = (value: ScVal | undefined): string | undefined =>
  value !== undefined && "address" in value ? value.address : undefined

const amountOf = (value: ScVal | undefined): bigint | undefined => {
  const amount = value !== undefined && "i128" in value ? fromParts(value.i128) : undefined
  return amount === undefined || amount < 0n ? undefined : amount
}

/** `transfer` moves XLM now. The spender of `approve` can take it later. */
const nativeCall = ({ name, args: [, second, third] }: Call): Sends => {
  const receiver = addressOf(second)
  const amount = amountOf(third)
  const isKnown = name === "transfer" || name === "approve"
  return isKnown && receiver !== undefined && amount !== undefined
    ? { ...noSends, value: amount, receivers: [receiver] }
    : { ...noSends, unreadable: [name] }
}

const invocation = ({ call, below }: Invocation, isRoot: boolean, nativeContract: string): Sends => {
  const deeper = below.map((one) => invocation(one, false, nativeContract))
  if (call?.contract === nativeContract) return sumOfSends([nativeCall(call), ...deeper])
  const name = call?.contract ?? contractCreation
  return sumOfSends([isRoot ? noSends : { ...noSends, below: [name] }, ...deeper])
}

const isOwn = ({ credentials }: AuthEntry, { own }: GuardTerms): boolean =>
  credentials.kind === "source" || signersOf(credentials).some((address) => own.has(address))

/** What an operation locks on its account. */
const reserved = (operation: Operation, { assetContracts, baseReserve }: GuardTerms): Sends => ({
  ...noSends,
  value: BigInt(entriesAddedBy(operation, assetContracts)) * baseReserve
})

const ofOperation = (operation: Operation, terms: GuardTerms): Sends => {
  switch (operation.type) {
    case "payment":
      return {
        ...noSends,
        value: operation.asset === "native" ? operation.amount : 0n,
        receivers: [operation.destination.address]
      }
    case "pathPaymentStrictReceive":
    case "pathPaymentStrictSend":
      return {
        ...noSends,
        value: operation.sendAsset === "native" ? operation.sendMax : 0n,
        receivers: [operation.destination.address]
      }
    case "changeTrust":
      return reserved(operation, terms)
    case "invokeHostFunction": {
      const { auth, host } = operation
      const trees = auth
        .filter((entry) => isOwn(entry, terms))
        .map(({ root }) => invocation(root, true, terms.nativeContract))
      const root = host.kind === "call" ? host.call.contract : contractCreation
      const called = root === terms.nativeContract ? noSends : { ...noSends, receivers: [root] }
      return sumOfSends([called, reserved(operation, terms), ...trees])
    }
    default: {
      const taken = operation.takes.filter(({ asset }) => asset === "native")
      const value = taken.reduce((total, { amount }) => total + amount, 0n)
      return { ...noSends, value, receivers: operation.receivers }
    }
  }
}

/** What leaves own accounts by an envelope of the relayer. */
export const sendsOf = ({ operations }: TransactionEnvelope, terms: GuardTerms): Sends =>
  sumOfSends(operations.map((operation) => ofOperation(operation, terms)))

const canonical = (address: string): string => accountMeantBy(address) ?? address

/** What a key with limits may not send. */
export const exceededLimit = (
  envelope: TransactionEnvelope,
  terms: GuardTerms,
  { maxValue, receivers }: KeyLimits
): Refusal | undefined => {
  const sends = sendsOf(envelope, terms)
  if (sends.unreadable.length > 0) {
    return refusal(
      "key_limits",
      `the call ${sends.unreadable.join(", ")} of the native asset's contract cannot be counted`
    )
  }
  if (maxValue !== undefined && sends.value > maxValue) {
    return refusal(
      "key_limits",
      `must send at most ${maxValue} stroops, the max_value of the API key, not ${sends.value}`
    )
  }
  const listed = new Set((receivers ?? []).map(canonical))
  const wanted = [...(receivers === undefined ? [] : sends.receivers), ...sends.below]
  const missing = wanted.find((one) => !listed.has(canonical(one)))
  return missing === undefined
    ? undefined
    : refusal("key_limits", `${missing} is not among the receivers of the API key`)
}
