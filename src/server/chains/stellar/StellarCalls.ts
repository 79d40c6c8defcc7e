// The calls of stellar-rpc that transactions need, with the types of their results. The service calls servers by its own nodes,
// never by the client of the chain library.
import { Schema } from "effect"
import { Uint64 } from "../../../domain/chain/Amount.ts"
import type { TypedCall } from "../RpcNode.ts"

/** Numbers of ledgers have 32 bits. */
const Ledger = Schema.Natural

/** Unix seconds as a decimal string. */
const CloseTime = Schema.FiniteFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(0))

const Hash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/u, { expected: "64 hex digits" }))

const optional = Schema.optionalKey

const Network = Schema.Struct({ passphrase: Schema.String, protocolVersion: optional(Schema.Natural) })

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
  headerXdr: optional(Schema.String),
  metadataXdr: optional(Schema.String)
})

/** The newest ledger with all of its transactions, which has megabytes on the public network: rarely asked. */
export const latest: TypedCall<typeof Latest.Type> = { method: "getLatestLedger", result: Latest }

const Entries = Schema.Struct({
  entries: optional(Schema.NullOr(Schema.Array(Schema.Struct({ key: Schema.String, xdr: Schema.String })))),
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
  resultMetaXdr: optional(Schema.String)
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
      resultMetaXdr: optional(Schema.String)
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
  error: optional(Schema.String),
  transactionData: optional(Schema.String),
  minResourceFee: optional(Uint64),
  results: optional(
    Schema.NullOr(
      Schema.Array(
        Schema.Struct({ auth: optional(Schema.NullOr(Schema.Array(Schema.String))), xdr: optional(Schema.String) })
      )
    )
  ),
  restorePreamble: optional(Schema.NullOr(Schema.Struct({ transactionData: Schema.String, minResourceFee: Uint64 }))),
  stateChanges: optional(
    Schema.NullOr(
      Schema.Array(
        Schema.Struct({
          before: optional(Schema.NullOr(Schema.String)),
          after: optional(Schema.NullOr(Schema.String))
        })
      )
    )
  ),
  events: optional(Schema.NullOr(Schema.Array(Schema.String))),
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
  errorResultXdr: optional(Schema.String)
})
export const decodeSent = Schema.decodeUnknownOption(Sent)
