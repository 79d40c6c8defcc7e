// The calls of stellar-rpc, with their results as plain data: transactions, sends, simulations.
// The service calls servers by its own nodes, never by the client of the chain library.
import { Result as Outcome, Schema } from "effect"
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { Uint64 } from "../../../domain/chain/Amount.ts"
import type { RpcAnswer } from "../../../server/chains/RpcBatch.ts"
import type { TypedCall } from "../../../server/chains/RpcNode.ts"
import { present } from "../../core/Presentation.ts"
import type { AuthEntry } from "../rules/Envelope.ts"
import type { AccountState, EntryChange, SimulationFindings } from "../rules/Guard.ts"
import { declaredResourceFee, resourceMargin, withinLimit } from "../rules/StellarNumbers.ts"
import type { CallLimits } from "../rules/StellarNumbers.ts"
import type { NodeAnswer } from "../rules/StellarSeen.ts"
import { assetOf, authOf, keyAddress } from "./StellarDecoding.ts"
import { reading, textOf } from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"

/** Numbers of ledgers have 32 bits. */
const Ledger = Schema.Natural

/** Unix seconds as a decimal string. */
const CloseTime = Schema.FiniteFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(0))

const Hash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/u, { expected: "64 hex digits" }))

const optionalKey = Schema.optionalKey

const Network = Schema.Struct({ passphrase: Schema.String, protocolVersion: optionalKey(Schema.Natural) })

export const network: TypedCall<typeof Network.Type> = { method: "getNetwork", result: Network }

/** What the store of a server covers. Every answer about a transaction has it, also that about an unknown one. */
const Store = Schema.Struct({ latestLedger: Ledger, latestLedgerCloseTime: CloseTime, oldestLedger: Ledger })

const noHash = "0".repeat(64)

/**
 * The newest ledger with its close time, and the oldest one that the server keeps, from the look-up of a hash that no transaction
 * has. `getLatestLedger` returns the whole ledger with it, which has megabytes.
 */
export const newest: TypedCall<typeof Store.Type> = {
  method: "getTransaction",
  params: { hash: noHash },
  result: Store
}

const Latest = Schema.Struct({
  /** Absent before stellar-rpc 25. */
  headerXdr: optionalKey(Schema.String),
  metadataXdr: optionalKey(Schema.String)
})

/** The newest ledger with all of its transactions, which has megabytes on the public network: rarely asked. */
export const latest: TypedCall<typeof Latest.Type> = { method: "getLatestLedger", result: Latest }

const Entries = Schema.Struct({
  entries: optionalKey(Schema.NullOr(Schema.Array(Schema.Struct({ key: Schema.String, xdr: Schema.String })))),
  latestLedger: Ledger
})
export type Entries = typeof Entries.Type

/** Entries in one question: the limit of the method. */
export const maxKeys = 200

/** `keys`: base64 of `LedgerKey`. All entries are those of one ledger, `latestLedger`. */
export const ledgerEntries = (keys: ReadonlyArray<string>): TypedCall<Entries> => ({
  method: "getLedgerEntries",
  params: { keys },
  result: Entries
})

const Found = Schema.Struct({
  status: Schema.Literals(["SUCCESS", "FAILED"]),
  ledger: Ledger,
  resultXdr: Schema.String,
  envelopeXdr: Schema.String,
  resultMetaXdr: optionalKey(Schema.String)
})

const Looked = Schema.Union([Found, Schema.Struct({ status: Schema.Literal("NOT_FOUND") })])

/** By the hash of an envelope, or of the envelope inside of a fee bump. The absence proves nothing. */
export const transaction = (hash: string): TypedCall<typeof Looked.Type> => ({
  method: "getTransaction",
  params: { hash },
  result: Looked
})

/** Transactions of one page: the limit of the method. */
const maxPage = 200

const Page = Schema.Struct({
  transactions: Schema.Array(
    Schema.Struct({
      txHash: Hash,
      ledger: Ledger,
      envelopeXdr: Schema.String,
      resultMetaXdr: optionalKey(Schema.String)
    })
  ),
  cursor: Schema.String
})
export type Page = typeof Page.Type

/** All transactions from a ledger on, or after the cursor of the page before. */
export const transactions = (from: { readonly ledger: number } | { readonly cursor: string }): TypedCall<Page> => ({
  method: "getTransactions",
  params:
    "ledger" in from
      ? { startLedger: from.ledger, pagination: { limit: maxPage } }
      : { pagination: { cursor: from.cursor, limit: maxPage } },
  result: Page
})

const Distribution = Schema.Struct({ p95: Uint64, p99: Uint64 })

const Fees = Schema.Struct({ sorobanInclusionFee: Distribution, inclusionFee: Distribution })
export type Fees = typeof Fees.Type

/** Stroops per operation that recent ledgers took: of classic operations and of calls of contracts. */
export const feeStats: TypedCall<Fees> = { method: "getFeeStats", result: Fees }

const Simulated = Schema.Struct({
  error: optionalKey(Schema.String),
  transactionData: optionalKey(Schema.String),
  minResourceFee: optionalKey(Uint64),
  results: optionalKey(
    Schema.NullOr(
      Schema.Array(
        Schema.Struct({
          auth: optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
          xdr: optionalKey(Schema.String)
        })
      )
    )
  ),
  restorePreamble: optionalKey(
    Schema.NullOr(Schema.Struct({ transactionData: Schema.String, minResourceFee: Uint64 }))
  ),
  stateChanges: optionalKey(
    Schema.NullOr(
      Schema.Array(
        Schema.Struct({
          before: optionalKey(Schema.NullOr(Schema.String)),
          after: optionalKey(Schema.NullOr(Schema.String))
        })
      )
    )
  ),
  events: optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  latestLedger: Ledger
})
export type SimulatedCall = typeof Simulated.Type

/**
 * `enforce` checks the authorizations that an envelope has, and `record` lists those that it needs. `none`: it calls no function, and
 * stellar-rpc refuses the parameter for it (`validateAuthMode`).
 */
export type AuthMode = "record" | "enforce" | "none"

/** `envelope`: base64. */
export const simulate = (envelope: string, authMode: AuthMode): TypedCall<SimulatedCall> => ({
  method: "simulateTransaction",
  params: { transaction: envelope, ...(authMode === "none" ? {} : { authMode }) },
  result: Simulated
})

const Sent = Schema.Struct({
  status: Schema.Literals(["PENDING", "DUPLICATE", "TRY_AGAIN_LATER", "ERROR"]),
  hash: Hash,
  errorResultXdr: optionalKey(Schema.String)
})
const decodeSent = Schema.decodeUnknownOption(Sent)

// Results of transactions as plain data.

export interface TransactionResult {
  /** Such as `txSuccess` or `txBadSeq`. */
  readonly code: string
  /** Belongs to the transaction inside of a fee bump. */
  readonly inner?: string
  /** Stroops that were charged. Of `txInsufficientFee`: the fee that a node asks for. */
  readonly fee: bigint
  /** One per operation, such as `paymentUnderfunded`. Empty if none was applied. */
  readonly operations: ReadonlyArray<string>
}

const operationOf = (result: Xdr.OperationResult): string =>
  result.type === "opInner" ? result.tr.value.type : result.type

const operationsIn = (result: Xdr.TransactionResultResult | Xdr.InnerTransactionResultResult): ReadonlyArray<string> =>
  "results" in result ? result.results.map(operationOf) : []

const isBump = (code: string): boolean => code === "txFeeBumpInnerSuccess" || code === "txFeeBumpInnerFailed"

const wholeIn = ({ xdr }: Library, text: string): TransactionResult => {
  const { feeCharged, result } = xdr.TransactionResult.fromXdr(text, "base64")
  if (result.type === "txFeeBumpInnerSuccess" || result.type === "txFeeBumpInnerFailed") {
    const inner = result.innerResultPair.result.result
    return { code: result.type, inner: inner.type, fee: feeCharged, operations: operationsIn(inner) }
  }
  return { code: result.type, fee: feeCharged, operations: operationsIn(result) }
}

const optional = <A>(read: () => A): A | undefined => Outcome.getOrUndefined(Outcome.try(read))

/** Bytes of the parts of a result, in their order (`TransactionResult`, `InnerTransactionResultPair` and `OperationResult`). */
const size = { fee: 8, code: 4, hash: 32 } as const

const codeAt = ({ xdr }: Library, bytes: Buffer, offset: number): string => {
  const code = bytes.readInt32BE(offset)
  return optional(() => xdr.TransactionResultCode.fromValue(code).name) ?? `txUnknown(${code})`
}

/** The name of an operation's result that the library cannot read: the raw codes are shown. */
const unknownOperation = ({ xdr }: Library, bytes: Buffer, offset: number): string => {
  const code = bytes.readInt32BE(offset)
  if (code !== 0) return `opUnknown(${code})`
  const type = bytes.readInt32BE(offset + size.code)
  const name = optional(() => xdr.OperationType.fromValue(type).name) ?? `operation${type}`
  return `${name}Unknown(${bytes.readInt32BE(offset + 2 * size.code)})`
}

/** Results of operations up to the first one that the library cannot read: where that one ends is not known. */
const operationsFrom = (lib: Library, bytes: Buffer, start: number): ReadonlyArray<string> => {
  const found: Array<string> = []
  let offset = start + size.code
  for (let left = bytes.readUInt32BE(start); left > 0; left--) {
    let end = offset + size.code
    const read = () => optional(() => lib.xdr.OperationResult.fromXdr(bytes.subarray(offset, end)))
    let one = read()
    while (one === undefined && end < bytes.length) {
      end += size.code
      one = read()
    }
    if (one === undefined) return [...found, unknownOperation(lib, bytes, offset)]
    found.push(operationOf(one))
    offset = end
  }
  return found
}

const withOperations: ReadonlySet<string> = new Set(["txSuccess", "txFailed"])

/** What a result says before the first code that the library does not know, such as one of a later protocol. */
const partIn = (lib: Library, text: string): TransactionResult => {
  const bytes = Buffer.from(text, "base64")
  const fee = bytes.readBigInt64BE(0)
  const code = codeAt(lib, bytes, size.fee)
  const start = isBump(code) ? size.fee + size.code + size.hash + size.fee : size.fee
  const inner = codeAt(lib, bytes, start)
  const operations = withOperations.has(inner)
    ? (optional(() => operationsFrom(lib, bytes, start + size.code)) ?? [])
    : []
  return { code, fee, operations, ...(isBump(code) ? { inner } : {}) }
}

/** Undefined: it is too short to have a code. Codes that the library does not know are shown as they are: `txUnknown(-42)`. */
export const resultIn = (lib: Library, text: string): TransactionResult | undefined =>
  optional(() => wholeIn(lib, text)) ?? optional(() => partIn(lib, text))

/** The server could not read the envelope (JSON-RPC 2.0, invalid parameters). */
const invalidParams = -32_602

/**
 * How stellar-rpc answers if stellar-core says FILTERED, a status that it does not know: validators do not take transactions of one of the
 * accounts.
 */
const isFiltered = (answer: RpcAnswer): boolean =>
  answer._tag === "RpcError" && answer.code === -32_603 && answer.message.includes("invalid status from stellar-core")

/** `hash`: of the envelope that was sent. An answer about another one says nothing about it. */
export const answerOf = (lib: Library, answer: RpcAnswer, hash: string): NodeAnswer => {
  if (answer._tag === "RpcError" && answer.code === invalidParams) return { status: "INVALID" }
  if (isFiltered(answer)) return { status: "FILTERED" }
  const sent = answer._tag === "Result" ? decodeSent(answer.value) : undefined
  if (sent === undefined || sent._tag === "None" || sent.value.hash !== hash) return { status: "UNKNOWN" }
  const { errorResultXdr, status } = sent.value
  if (status !== "ERROR") return { status }
  const result = errorResultXdr === undefined ? undefined : resultIn(lib, errorResultXdr)
  if (result === undefined) return { status: "UNKNOWN" }
  const { code, fee, inner } = result
  return { status, result: code, fee, ...(inner === undefined ? {} : { inner }) }
}

// Simulations of calls of contracts: what they need, authorize and change, and what the envelope declares for it.

const withMargin = (units: number): number =>
  Math.ceil((units * Number(resourceMargin.numerator)) / Number(resourceMargin.denominator))

/** Undefined: the limits of the network are not known. */
type Limits = CallLimits | undefined

/** The Soroban data of the envelope: resources with their margin, within the limits of the network, and the fee that it declares. */
const declared = ({ xdr }: Library, data: string, fee: bigint, limits: Limits): string => {
  const { SorobanResources, SorobanTransactionData } = xdr
  const { ext, resources } = SorobanTransactionData.fromXdr(data, "base64")
  const { diskReadBytes, footprint, instructions, writeBytes } = resources
  const declared = new SorobanTransactionData({
    ext,
    resources: new SorobanResources({
      footprint,
      instructions: withinLimit(instructions, withMargin(instructions), limits?.instructions),
      diskReadBytes: withinLimit(diskReadBytes, withMargin(diskReadBytes), limits?.diskReadBytes),
      writeBytes: withinLimit(writeBytes, withMargin(writeBytes), limits?.writeBytes)
    }),
    resourceFee: declaredResourceFee(fee)
  })
  return textOf(declared)
}

type Data = Xdr.LedgerEntryData

const dataIn = ({ xdr }: Library, text: string | null | undefined): Data | undefined =>
  text === undefined || text === null ? undefined : xdr.LedgerEntry.fromXdr(text, "base64").data

const stateOf = ({ xdr }: Library, entry: Xdr.AccountEntry): AccountState => {
  const { accountId, balance, ext, flags, homeDomain, inflationDest, numSubEntries, seqNum, signers, thresholds } =
    entry
  const v1 = ext.type === "v1" ? ext.v1 : undefined
  const v2 = v1?.ext.type === "v2" ? v1.ext.v2 : undefined
  const options = { accountId, flags, homeDomain, inflationDest, seqNum, signers, thresholds }
  const bare = { ...options, balance: 0n, numSubEntries: 0, ext: xdr.AccountEntryExt.v0() }
  return {
    balance,
    subentries: numSubEntries,
    reserves: numSubEntries + (v2?.numSponsoring ?? 0) - (v2?.numSponsored ?? 0),
    rest: textOf(new xdr.AccountEntry(bare))
  }
}

/** What calls of contracts change besides accounts and trust lines. The guard has no rules for it: only contracts own it. */
const ofContracts: ReadonlySet<Data["type"]> = new Set(["contractData", "contractCode", "ttl"])

const changeOf = (lib: Library, before: Data | undefined, after: Data | undefined): ReadonlyArray<EntryChange> => {
  const entry = before ?? after
  if (entry === undefined || ofContracts.has(entry.type)) return []
  if (entry.type === "account") {
    const stateIn = (data: Data | undefined) => (data?.type === "account" ? stateOf(lib, data.account) : undefined)
    const states = { ...present("before", stateIn(before)), ...present("after", stateIn(after)) }
    return [{ kind: "account", address: keyAddress(entry.account.accountId), ...states }]
  }
  if (entry.type !== "trustline") return [{ kind: "unexpected", name: entry.type }]
  const balanceIn = (data: Data | undefined) => (data?.type === "trustline" ? data.trustLine.balance : undefined)
  const balances = { ...present("before", balanceIn(before)), ...present("after", balanceIn(after)) }
  const { accountId, asset } = entry.trustLine
  return [{ kind: "trustline", address: keyAddress(accountId), asset: assetOf(asset), ...balances }]
}

/** An account, or a trust line of it. */
const nameOf = (address: string, asset?: string): string => `${address} ${asset ?? ""}`

/** Accounts whose entries the footprint lets the call write, without those whose change is shown. */
const unshownIn = (
  { xdr }: Library,
  data: string | undefined,
  changes: ReadonlyArray<EntryChange>
): ReadonlyArray<string> => {
  const shown = new Set(
    changes.flatMap((change) =>
      change.kind === "unexpected"
        ? []
        : [nameOf(change.address, change.kind === "trustline" ? change.asset : undefined)]
    )
  )
  const written =
    data === undefined ? [] : xdr.SorobanTransactionData.fromXdr(data, "base64").resources.footprint.readWrite
  return written.flatMap((key) => {
    if (key.type !== "account" && key.type !== "trustline") return []
    const [address, name] =
      key.type === "account"
        ? [keyAddress(key.account.accountId), nameOf(keyAddress(key.account.accountId))]
        : [
            keyAddress(key.trustLine.accountId),
            nameOf(keyAddress(key.trustLine.accountId), assetOf(key.trustLine.asset))
          ]
    return shown.has(name) ? [] : [address]
  })
}

/** `CODE:ISSUER`, the last topic of each event of the contract of an asset. Events of other tokens have none. */
const assetTopic = /^[a-zA-Z0-9]{1,12}:G[A-Z2-7]{55}$/

const administrative: ReadonlySet<string> = new Set(["set_admin", "set_authorized", "clawback"])

const administeredIn = (lib: Library, text: string): SimulationFindings["administered"] => {
  const { event } = lib.xdr.DiagnosticEvent.fromXdr(text, "base64")
  const topics = event.body.v0.topics
  const [first, last] = [topics[0], topics.at(-1)]
  if (event.contractId === null || event.type !== lib.xdr.ContractEventType.contract) return []
  if (first?.type !== "scvSymbol" || last?.type !== "scvString" || !assetTopic.test(last.str.toString())) return []
  const name = first.sym.toString()
  const contract = lib.StrKey.encodeContract(event.contractId.value)
  return administrative.has(name) ? [{ contract, name }] : []
}

/** The parts of an answer that the guard judges. A newer protocol can add what this version cannot read. */
const judged = (lib: Library, { events, results, stateChanges, transactionData }: SimulatedCall) => {
  const entries = (results ?? []).flatMap(({ auth }) => auth ?? [])
  const read = (): Pick<SimulationFindings, "administered" | "auth" | "changes" | "unshown"> => {
    const changes = (stateChanges ?? []).flatMap(({ before, after }) =>
      changeOf(lib, dataIn(lib, before), dataIn(lib, after))
    )
    const auth = entries.map((text): AuthEntry =>
      authOf(lib, lib.xdr.SorobanAuthorizationEntry.fromXdr(text, "base64"))
    )
    const administered = (events ?? []).flatMap((text) => administeredIn(lib, text))
    return { administered, auth, changes, unshown: unshownIn(lib, transactionData, changes) }
  }
  return Outcome.getOrElse(reading(read, "is not the XDR of what a simulation finds"), ({ detail }) => ({
    ...nothing,
    unreadable: detail
  }))
}

const nothing = { administered: [], auth: [], changes: [], unshown: [] } as const satisfies Partial<SimulationFindings>

/** Longest error text that is kept. */
const maxError = 200

const cleaned = (text: string): string => text.replaceAll(/\p{Cc}/gu, " ").slice(0, maxError)

/** A simulation as the rules read it, with what the envelope takes from it. */
export interface ReadSimulation extends SimulationFindings {
  /** Base64 with margins. Absent if it fails. */
  readonly data?: string
  /** `ScVal` in base64. Absent: the operation calls no function. */
  readonly returned?: string
  /** What a restore of archived entries needs first: its fee in stroops, and its data with margins. */
  readonly restore?: { readonly fee: bigint; readonly data: string }
}

const readCall = (lib: Library, answer: SimulatedCall, limits: Limits): ReadSimulation => {
  const { error, minResourceFee = 0n, restorePreamble, results, transactionData } = answer
  const failed = error ?? (transactionData === undefined ? "the simulation has no result" : undefined)
  if (failed !== undefined) return { error: cleaned(failed), resourceFee: 0n, ...nothing }
  return {
    resourceFee: minResourceFee,
    ...judged(lib, answer),
    ...present("returned", results?.[0]?.xdr),
    ...present("data", transactionData && declared(lib, transactionData, minResourceFee, limits)),
    ...(restorePreamble === undefined || restorePreamble === null
      ? {}
      : {
          restore: {
            fee: restorePreamble.minResourceFee,
            data: declared(lib, restorePreamble.transactionData, restorePreamble.minResourceFee, limits)
          }
        })
  }
}

/** Undefined: it has XDR that cannot be read. */
export const simulatedIn = (lib: Library, answer: SimulatedCall, limits?: CallLimits): ReadSimulation | undefined =>
  Outcome.getOrUndefined(Outcome.try(() => readCall(lib, answer, limits)))
