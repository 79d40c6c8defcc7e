// The body of a send to solana, and of a replacement, field by field. `SolanaAdmission.ts` checks the fields together.
import { Schema, Struct } from "effect"
import { CheckedSolanaAddress } from "../../chain/Address.ts"
import { PositiveUint64, Uint64 } from "../../chain/Amount.ts"
import { added, field } from "../../request/Field.ts"
import { Instant, maybe, text } from "../../request/Text.ts"
import { batchOf } from "../TransactionRequests.ts"
import { maxExternalIdLength, Speed } from "../TransactionValues.ts"
import { maxAccounts, maxComputeUnits, maxInstructions, maxTables, version1 } from "./SolanaNumbers.ts"

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

export const WireBytes = Schema.Union([Base64Transaction, ByteArray])

const program = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"

const SolanaAccountMeta = Schema.Struct({
  pubkey: field(CheckedSolanaAddress, "Address of the account.", "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"),
  is_signer: field(Schema.Boolean, "Whether it signs. Only the relayer can.", false),
  is_writable: field(Schema.Boolean, "Whether the instruction may write it.", true)
}).annotate({ identifier: "SolanaAccountMeta", description: "An account of an instruction." })

export const SolanaInstruction = Schema.Struct({
  program_id: field(CheckedSolanaAddress, "Address of the program.", program),
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

const fields = {
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
      { program_id: program, accounts: [], data: "aGVsbG8=" }
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
  max_fee_lamports: maybe(
    PositiveUint64,
    extra("Highest fee in lamports. The lower one of this and the relayer's policy counts.", "100000")
  ),
  address_lookup_tables: maybe(
    Schema.Array(CheckedSolanaAddress).check(
      Schema.isBetweenLength(1, maxTables, { expected: `1 to ${maxTables} addresses` })
    ),
    extra("Lookup tables with which a message of version 0 is built. Only with `instructions`.", [program])
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

export const SendSolanaTransaction = Schema.Struct(fields).annotate({
  identifier: "SendSolanaTransactionRequest",
  description: "A transaction to send."
})
export type SendSolanaTransaction = typeof SendSolanaTransaction.Type

/** A replacement keeps its name and its place in the order. */
export const ReplaceSolanaTransaction = Schema.Struct(
  Struct.omit(fields, ["not_before", "external_id", "priority"])
).annotate({ identifier: "ReplaceSolanaTransactionRequest", description: "What a transaction does instead." })

export type ReplaceSolanaTransaction = typeof ReplaceSolanaTransaction.Type

export const SendSolanaBatch = batchOf(SendSolanaTransaction, { transaction: "AQAAAA==" }).annotate({
  identifier: "SendSolanaTransactionBatchRequest",
  description: "Transactions that are accepted together."
})

/** The bytes that a text of base64 stands for. */
export const bytesOf = (text: string): Uint8Array => Uint8Array.from(atob(text), (character) => character.charCodeAt(0))

export const base64Of = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

/** A prebuilt transaction as base64. */
export const prebuiltOf = (transaction: string | ReadonlyArray<number>): string =>
  typeof transaction === "string" ? transaction : base64Of(Uint8Array.from(transaction))
