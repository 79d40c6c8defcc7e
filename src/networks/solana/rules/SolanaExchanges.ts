// What callers and the service exchange about transactions of solana: bodies of requests, answers, and parameters of JSON-RPC methods.
import { Schema, Struct } from "effect"
import { PositiveUint64, Uint64 } from "../../../domain/chain/Amount.ts"
import * as ExactJson from "../../../domain/request/ExactJson.ts"
import { added, field, shown, shownAddition } from "../../../domain/request/Field.ts"
import { lacking, requiredUnless } from "../../../domain/request/Violations.ts"
import * as Shown from "../../../domain/request/Shown.ts"
import { Instant, maybe, text } from "../../../domain/request/Shown.ts"
import { Code } from "../../core/Cause.ts"
import type { Exchange } from "../../core/Family.ts"
import { neutralAttemptFields, neutralFields, versionField, versionsText } from "../../core/Presentation.ts"
import { batchOf } from "../../core/TransactionRequests.ts"
import { maxExternalIdLength, Speed } from "../../core/TransactionValues.ts"
import { maxAccounts, maxComputeUnits, maxInstructions, maxTables, version1 } from "./SolanaNumbers.ts"
import { decodeBase58 } from "./Wire.ts"

/** The one text of some bytes: with padding, and without bits that are left over. */
const isBase64 = (text: string): boolean => {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return false
  return btoa(atob(text)) === text
}

const base64 = Schema.String.check(
  Schema.makeFilter(isBase64, {
    expected: "base64 with padding",
    toJsonSchema: () => [{ contentEncoding: "base64" }, true],
    arbitraryConstraint: { patterns: [{ source: "^([A-Za-z0-9+/]{4}){1,16}$", flags: "" }] }
  })
)

/** Bytes that a text of base64 stands for. */
const sizeOf = (text: string): number => (text.length / 4) * 3 - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0)

/** Bytes of the largest form. The rules of the fee payer have the limit of each. */
const maxBytes = version1.bytes

const size = { expected: `1 to ${maxBytes} bytes` }

const Base64Transaction = base64.check(
  Schema.makeFilter((text: string) => text !== "" && sizeOf(text) <= maxBytes, {
    ...size,
    toJsonSchema: () => [{ minLength: 4, maxLength: 4 * Math.ceil(maxBytes / 3) }, true]
  })
)

/** The form that the types of the common client have. */
const ByteArray = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))).check(
  Schema.isBetweenLength(1, maxBytes, size)
)

const WireBytes = Schema.Union([Base64Transaction, ByteArray])

const exampleProgram = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
const exampleMint = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"

const base58 = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/u

/** In a request. Base58 has no checksum: a text that was mistyped in length has other than 32 bytes, and is no address. */
const RequestKey = Schema.String.check(
  Schema.makeFilter((text: string) => base58.test(text) && decodeBase58(text) !== undefined, {
    expected: "a base58 Solana address of 32 bytes",
    toJsonSchema: () => [{ pattern: base58.source }, true],
    arbitraryConstraint: { patterns: [{ source: `^(${exampleProgram}|${exampleMint})$`, flags: "" }] }
  })
)

const SolanaAccountMeta = Schema.Struct({
  pubkey: field(RequestKey, "Address of the account.", "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"),
  is_signer: field(Schema.Boolean, "Whether it signs. Only the relayer can.", false),
  is_writable: field(Schema.Boolean, "Whether the instruction may write it.", true)
}).annotate({ identifier: "SolanaAccountMeta", description: "An account of an instruction." })

export const SolanaInstruction = Schema.Struct({
  program_id: field(RequestKey, "Address of the program.", exampleProgram),
  accounts: field(
    Schema.Array(SolanaAccountMeta).check(
      Schema.isMaxLength(maxAccounts, { expected: `at most ${maxAccounts} accounts` })
    ),
    "Accounts in the order that the program expects.",
    []
  ),
  data: field(base64, "Data as base64.", "aGVsbG8=")
}).annotate({ identifier: "SolanaInstructionSpec", description: "An instruction." })
export type SolanaInstruction = typeof SolanaInstruction.Type

const doc = <const T>(description: string, example: T) => ({ description, examples: [example] })
const extra = <const T>(description: string, example: T) => doc(added(description), example)

const sendFields = {
  transaction: maybe(
    WireBytes,
    doc(
      "A prebuilt transaction, legacy, version 0 or version 1, as base64 or as an array of bytes. Exactly one of `transaction` and `instructions` is required.",
      "AQAAAA=="
    )
  ),
  instructions: maybe(
    Schema.Array(SolanaInstruction).check(
      Schema.isBetweenLength(1, maxInstructions, { expected: `1 to ${maxInstructions} instructions` })
    ),
    doc("Instructions that the service builds, prices and signs.", [
      { program_id: exampleProgram, accounts: [], data: "aGVsbG8=" }
    ])
  ),
  valid_until: maybe(
    Instant,
    doc(
      "Deadline: no new bytes are signed after it. Bytes that exist then may still land until their blockhash dies. If absent, 30 minutes; at most 7 days.",
      "2026-11-22T18:00:00.000Z"
    )
  ),
  not_before: maybe(Instant, extra("Moment before which nothing is signed.", "2026-11-22T12:00:00.000Z")),
  external_id: maybe(text(1, maxExternalIdLength), extra("The caller's identifier, unique per relayer.", "order-1234")),
  priority: maybe(
    Schema.Literals([-1, 0, 1]),
    extra("Order in which transactions of the relayer are signed. The default is 0.", 1)
  ),
  wait_for_funds: maybe(
    Schema.Boolean,
    extra("Whether it waits for funds until its deadline. The default is false: it fails after ten minutes.", true)
  ),
  simulate: maybe(
    Schema.Boolean,
    extra(
      "Whether it is simulated before it is signed. The default is true. It must be true if the relayer spends.",
      false
    )
  ),
  speed: maybe(
    Speed,
    extra("Percentile of recent prices that it offers. The default is `fast`. Only with `instructions`.", "fast")
  ),
  compute_unit_limit: maybe(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxComputeUnits })),
    extra("Compute units at most. If absent, by simulation. Only with `instructions`.", 20_000)
  ),
  compute_unit_price: maybe(
    Uint64,
    extra("Micro-lamports per compute unit. If absent, by `speed`. Only with `instructions`.", 1000)
  ),
  max_fee_lamports: maybe(PositiveUint64, {
    ...extra("Highest fee in lamports. The lower one of this and the relayer's policy counts.", "100000"),
    unit: "native"
  }),
  address_lookup_tables: maybe(
    Schema.Array(RequestKey).check(Schema.isBetweenLength(1, maxTables, { expected: `1 to ${maxTables} addresses` })),
    extra("Lookup tables with which a message of version 0 is built. Only with `instructions`.", [exampleProgram])
  ),
  version: maybe(
    Schema.Literal(1),
    extra(
      "Version of the message that is built. Version 1 has up to 4096 bytes, at most 64 accounts and no lookup tables, and needs nodes that take it. If absent, the legacy form, or version 0 with `address_lookup_tables`. Only with `instructions`.",
      1
    )
  ),
  refresh: maybe(
    Schema.Boolean,
    extra("Whether the blockhash of a prebuilt transaction may be exchanged. The default is true.", false)
  )
}

export const SendSolanaTransaction = lacking(
  Schema.Struct(sendFields),
  requiredUnless("transaction", "instructions")
).annotate({
  identifier: "SendSolanaTransactionRequest",
  description: "A transaction to send."
})
export type SendSolanaTransaction = typeof SendSolanaTransaction.Type

/** A replacement keeps its name and its place in the order. */
export const ReplaceSolanaTransaction = Schema.Struct(
  Struct.omit(sendFields, ["not_before", "external_id", "priority"])
).annotate({ identifier: "ReplaceSolanaTransactionRequest", description: "What a transaction does instead." })

export type ReplaceSolanaTransaction = typeof ReplaceSolanaTransaction.Type

export const SendSolanaBatch = batchOf(SendSolanaTransaction, { transaction: "AQAAAA==" }).annotate({
  identifier: "SendSolanaTransactionBatchRequest",
  description: "Transactions that are accepted together."
})

/** The bytes that a text of base64 stands for. `Uint8Array.from` takes twenty times as long as the loop. */
export const bytesOf = (text: string): Uint8Array => {
  const characters = atob(text)
  const bytes = new Uint8Array(characters.length)
  for (let index = 0; index < characters.length; index++) bytes[index] = characters.charCodeAt(index)
  return bytes
}

export const base64Of = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

/** A prebuilt transaction as base64. */
export const prebuiltOf = (transaction: string | ReadonlyArray<number>): string =>
  typeof transaction === "string" ? transaction : base64Of(Uint8Array.from(transaction))

// A transaction of solana as the API shows it. What is unknown is omitted; `null` is never sent.

/** Base58 of 64 bytes. */
const ShownSignature = Shown.shaped(/^[1-9A-HJ-NP-Za-km-z]{86,88}$/)

/** Base58 of 32 bytes. */
const Blockhash = Shown.shaped(/^[1-9A-HJ-NP-Za-km-z]{43,44}$/)

/** Base64 of a transaction. */
const ShownBytes = Shown.shaped(/^([A-Za-z0-9+/]{4}){0,16}$/)

const exampleTime = "2026-11-22T12:00:00.000Z"
const exampleSignature = "5".repeat(88)
const exampleBlockhash = "J2xccRtuG43drESLYznHhLhQkLTdfepcKYbiQ9BsJVaf"

const SolanaAttemptResponse = Schema.Struct({
  signature: field(ShownSignature, "Signature of the relayer, which names the attempt on the chain.", exampleSignature),
  kind: field(Schema.Literals(["original", "refresh"]), "Why it was signed.", "refresh"),
  blockhash: field(Blockhash, "Blockhash of its bytes.", exampleBlockhash),
  last_valid_block_height: field(Schema.Natural, "Last block height at which its bytes can land.", 280_000_150),
  compute_unit_limit: shown(Schema.Natural, "Compute units at most.", 20_000),
  compute_unit_price: field(Shown.Digits, "Micro-lamports per compute unit.", "1000"),
  max_fee: field(Shown.Digits, "Highest fee in lamports.", "5020"),
  ...neutralAttemptFields,
  signed_at: field(Instant, "When it was signed.", exampleTime),
  slot: shown(Schema.Natural, "Slot that contains it. Absent if none does.", 300_000_000)
}).annotate({ identifier: "SolanaTransactionAttempt", description: "A signed version of the transaction." })

const SolanaRequestVersion = Schema.Struct({
  version: versionField,
  transaction: shown(ShownBytes, "The prebuilt transaction as base64.", "AQAAAA=="),
  instructions: shown(Schema.Array(SolanaInstruction), "The instructions.", []),
  speed: shown(Speed, "Percentile of recent prices that it offers.", "fast"),
  compute_unit_limit: shown(Schema.Natural, "Compute units at most.", 20_000),
  compute_unit_price: shown(Shown.Digits, "Micro-lamports per compute unit.", "1000"),
  max_fee_lamports: shown(Shown.Digits, "Highest fee in lamports.", "100000")
}).annotate({ identifier: "SolanaRequestVersion", description: "What a caller asked for, in one of its versions." })

export const SolanaTransactionResponse = Schema.Struct({
  network_type: field(Schema.Literal("solana"), "Network type of the relayer.", "solana"),
  ...neutralFields,
  transaction: field(
    ShownBytes,
    "Base64 of the attempt that landed, else of the newest. Empty before the first signature.",
    "AQAAAA=="
  ),
  signature: shown(ShownSignature, "Signature of the attempt that landed, else of the newest.", exampleSignature),
  instructions: shown(Schema.Array(SolanaInstruction), "The instructions of the request.", []),
  slot: shownAddition(Schema.Natural, "Slot of the attempt that landed.", 300_000_000),
  fee_paid: shownAddition(
    Shown.Digits,
    "Lamports that it paid in fees, computed. An upper bound if the message sets a price and no limit of compute units.",
    "5020"
  ),
  error: shownAddition(ExactJson.Value, "Error of the attempt that landed, as the chain has it.", {
    InstructionError: [0, { Custom: 1 }]
  }),
  attempts: shownAddition(Schema.Array(SolanaAttemptResponse), "All signed versions, oldest first.", []),
  request_versions: shownAddition(Schema.Array(SolanaRequestVersion), versionsText, [])
}).annotate({ identifier: "SolanaTransactionResponse", description: "A solana transaction." })
export type SolanaTransactionResponse = typeof SolanaTransactionResponse.Type

// What a send of solana would do and cost now. Nothing is stored or sent.

export const SolanaSimulation = Schema.Struct({
  units_consumed: shown(Schema.Natural, "Compute units that it uses now.", 18_000),
  compute_unit_limit: shown(Schema.Natural, "Compute units that the transaction would get.", 20_100),
  fees: field(
    Schema.Struct({
      safeLow: field(Shown.Digits, "At the speed `safeLow`.", "5000"),
      average: field(Shown.Digits, "At the speed `average`.", "5010"),
      fast: field(Shown.Digits, "At the speed `fast`.", "5020"),
      fastest: field(Shown.Digits, "At the speed `fastest`.", "5100")
    }).annotate({ identifier: "SolanaFees", description: "Fee in lamports per speed, within the cap." }),
    "Fee in lamports per speed, within the cap. All are equal if the request sets its price, or is prebuilt.",
    { safeLow: "5000", average: "5010", fast: "5020", fastest: "5100" }
  ),
  max_fee: field(Shown.Digits, "Fee in lamports that the transaction would offer.", "5020"),
  lamports_out: shown(
    Schema.BigIntFromString,
    "Lamports that the account has less after the simulation, the fee included.",
    "1005020"
  ),
  out: field(Shown.Digits, "Lamports that the request declares to take from the account, besides the fee.", "1000000"),
  spent: field(
    Shown.Digits,
    "Value in lamports that the request spends, wrapped SOL included. Limits of API keys and `max_lamports_out` count it.",
    "1000000"
  ),
  logs: field(Schema.Array(Schema.String), "Logs of the programs, at most 10 kB.", ["Program log: hello"]),
  error: shown(Shown.Words, "Error of the simulation, as the chain has it.", '{"InstructionError":[0,{"Custom":1}]}'),
  verdict: field(
    Schema.Array(Shown.Words),
    "Codes of what keeps a send of this request from being accepted or signed now. Empty: nothing.",
    []
  )
}).annotate({ identifier: "SolanaSimulation", description: "What a send would do and cost now." })
export type SolanaSimulation = typeof SolanaSimulation.Type

// What callers exchange with the service besides sends: bytes that it signs for them, and transactions whose users pay in a token.

const ShownAddress = Shown.shaped(/^[1-9A-HJ-NP-Za-km-z]{43,44}$/)

export const SignSolanaTransaction = Schema.Struct({
  transaction: field(
    WireBytes,
    "A transaction, legacy, version 0 or version 1, whose fee payer is the relayer, as base64 or as an array of bytes.",
    "AQAAAA=="
  )
}).annotate({ identifier: "SignSolanaTransactionRequest", description: "A transaction to sign without sending it." })

export const SignedSolanaTransaction = Schema.Struct({
  transaction: field(ShownBytes, "The transaction with the relayer's signature, as base64.", "AQAAAA=="),
  signature: field(ShownSignature, "The relayer's signature.", "5".repeat(88))
}).annotate({ identifier: "SignedSolanaTransaction", description: "A transaction that the relayer signed." })

export type SolanaSigning = Exchange<typeof SignSolanaTransaction.Type, typeof SignedSolanaTransaction.Type>

/** A transaction of a user, and the token that the user pays its fee in. */
const sponsoredFields = {
  transaction: field(
    WireBytes,
    "The user's transaction, legacy, version 0 or version 1, whose fee payer is the user, as base64 or as an array of bytes.",
    "AQAAAA=="
  ),
  fee_token: field(RequestKey, "Mint of the token.", exampleMint)
}

export const QuoteSolanaTransaction = Schema.Struct(sponsoredFields).annotate({
  identifier: "QuoteSolanaTransactionRequest",
  description: "A transaction whose fee is to be quoted in a token."
})

export const SolanaQuote = Schema.Struct({
  estimated_fee: field(Shown.Decimal, "The fee in whole tokens.", "0.00075"),
  conversion_rate: field(Shown.Decimal, "Whole tokens that one SOL costs.", "150")
}).annotate({ identifier: "SolanaQuote", description: "What a transaction costs its user." })

export type SolanaQuoting = Exchange<typeof QuoteSolanaTransaction.Type, typeof SolanaQuote.Type>

export const BuildSolanaTransaction = Schema.Struct(sponsoredFields).annotate({
  identifier: "BuildSolanaTransactionRequest",
  description: "A transaction that is to be built with a payment of its fee."
})

export const BuiltSolanaTransaction = Schema.Struct({
  transaction: field(
    ShownBytes,
    "The unsigned transaction as base64: a payment to the relayer, and then the instructions of the user.",
    "AQAAAA=="
  ),
  fee_in_spl: field(Shown.Digits, "The fee in units of the token.", "750"),
  fee_in_lamports: field(Shown.Digits, "What the fee is worth, in lamports.", "5000"),
  fee_token: field(ShownAddress, "Mint of the token.", exampleMint),
  valid_until_blockheight: field(Schema.Natural, "Last block height at which it can land.", 280_000_150)
}).annotate({ identifier: "BuiltSolanaTransaction", description: "A transaction for the user to sign and send." })

export type SolanaBuilding = Exchange<typeof BuildSolanaTransaction.Type, typeof BuiltSolanaTransaction.Type>

// The account of a solana relayer as operators see it after a command. It has no nonce.

export const SolanaLaneState = Schema.Struct({
  address: field(
    Shown.shaped(/^[1-9A-HJ-NP-Za-km-z]{43,44}$/),
    "Account.",
    "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
  ),
  generation: field(Schema.Natural, "How often an operator declared that the test network was restarted.", 1),
  pending: field(Schema.Natural, "Open transactions of the account without a signature.", 3),
  in_flight: field(Schema.Natural, "Open transactions of the account with a signature.", 0),
  signature_window: shown(Schema.Natural, "Transactions that may be in flight at once.", 64),
  code: shown(Code, "Why the service signs nothing for the account.", "chain_changed"),
  code_since: shown(Instant, "Since when.", "2026-11-22T12:00:00.000Z")
}).annotate({ identifier: "SolanaLaneState", description: "Open transactions of an account of solana." })
export type SolanaLaneState = typeof SolanaLaneState.Type

// Methods that callers may send to the providers of a solana network, and the parameters of those that the service answers itself.

/** Methods that only read. Bytes that the relayer has signed are sent by its lane. */
export const passedMethods = {
  standard: new Set([
    "getAccountInfo",
    "getAgGenesisCert",
    "getBalance",
    "getBlock",
    "getBlockCommitment",
    "getBlockHeight",
    "getBlockProduction",
    "getBlockTime",
    "getBlocks",
    "getBlocksWithLimit",
    "getClusterNodes",
    "getEpochInfo",
    "getEpochSchedule",
    "getFeeForMessage",
    "getFirstAvailableBlock",
    "getGenesisHash",
    "getHealth",
    "getHighestSnapshotSlot",
    "getIdentity",
    "getInflationGovernor",
    "getInflationRate",
    "getInflationReward",
    "getLargestAccounts",
    "getLatestBlockhash",
    "getLeaderSchedule",
    "getMaxRetransmitSlot",
    "getMaxShredInsertSlot",
    "getMinimumBalanceForRentExemption",
    "getMultipleAccounts",
    "getProgramAccounts",
    "getRecentPerformanceSamples",
    "getRecentPrioritizationFees",
    "getSignatureStatuses",
    "getSignaturesForAddress",
    "getSlot",
    "getSlotLeader",
    "getSlotLeaders",
    "getStakeMinimumDelegation",
    "getSupply",
    "getTokenAccountBalance",
    "getTokenAccountsByDelegate",
    "getTokenAccountsByOwner",
    "getTokenLargestAccounts",
    "getTokenSupply",
    "getTransaction",
    "getTransactionCount",
    "getVersion",
    "getVoteAccounts",
    "isBlockhashValid",
    "minimumLedgerSlot",
    "simulateTransaction"
  ])
}

/** What the service offers besides sending, as the method `getFeaturesEnabled` lists it. */
export const enabledFeatures = ["gasless"] as const

/** Parameters of `transferTransaction`. */
export const TransferOfUser = Schema.Struct({
  /** Units of the token. */
  amount: PositiveUint64,
  /** Its mint. The fee is paid in it as well. */
  token: RequestKey,
  /** The wallets of the user and of the receiver. */
  source: RequestKey,
  destination: RequestKey
})
export type TransferOfUser = typeof TransferOfUser.Type

/** Parameters of the methods that take none. */
export const NoParameters = Schema.Struct({})
