// A transaction of solana as the API shows it. What is unknown is omitted; `null` is never sent.
import { Schema } from "effect"
import * as ExactJson from "../../request/ExactJson.ts"
import { added, field, shown } from "../../request/Field.ts"
import * as Shown from "../../request/Shown.ts"
import { Instant } from "../../request/Text.ts"
import { neutralAttemptFields, neutralFields, versionField, versionsText } from "../Presentation.ts"
import { Speed } from "../TransactionValues.ts"
import { SolanaInstruction } from "./SendSolanaTransaction.ts"

/** Base58 of 64 bytes. */
export const ShownSignature = Shown.shaped(/^[1-9A-HJ-NP-Za-km-z]{86,88}$/)

/** Base58 of 32 bytes. */
const Blockhash = Shown.shaped(/^[1-9A-HJ-NP-Za-km-z]{43,44}$/)

/** Base64 of a transaction. */
export const ShownBytes = Shown.shaped(/^([A-Za-z0-9+/]{4}){0,16}$/)

const at = "2026-11-22T12:00:00.000Z"
const signature = "5".repeat(88)
const blockhash = "J2xccRtuG43drESLYznHhLhQkLTdfepcKYbiQ9BsJVaf"

/** An optional property that existing clients do not know. */
const more = <S extends Schema.Top>(schema: S, description: string, example: S["Encoded"]) =>
  shown(schema, added(description), example)

const SolanaAttemptResponse = Schema.Struct({
  signature: field(ShownSignature, "Signature of the relayer, which names the attempt on the chain.", signature),
  kind: field(Schema.Literals(["original", "refresh"]), "Why it was signed.", "refresh"),
  blockhash: field(Blockhash, "Blockhash of its bytes.", blockhash),
  last_valid_block_height: field(Schema.Natural, "Last block height at which its bytes can land.", 280_000_150),
  compute_unit_limit: shown(Schema.Natural, "Compute units at most.", 20_000),
  compute_unit_price: field(Shown.Digits, "Micro-lamports per compute unit.", "1000"),
  max_fee: field(Shown.Digits, "Highest fee in lamports.", "5020"),
  ...neutralAttemptFields,
  signed_at: field(Instant, "When it was signed.", at),
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
  signature: shown(ShownSignature, "Signature of the attempt that landed, else of the newest.", signature),
  instructions: shown(Schema.Array(SolanaInstruction), "The instructions of the request.", []),
  slot: more(Schema.Natural, "Slot of the attempt that landed.", 300_000_000),
  fee_paid: more(
    Shown.Digits,
    "Lamports that it paid in fees, computed. An upper bound if the message sets a price and no limit of compute units.",
    "5020"
  ),
  error: more(ExactJson.Value, "Error of the attempt that landed, as the chain has it.", {
    InstructionError: [0, { Custom: 1 }]
  }),
  attempts: more(Schema.Array(SolanaAttemptResponse), "All signed versions, oldest first.", []),
  request_versions: more(Schema.Array(SolanaRequestVersion), versionsText, [])
}).annotate({ identifier: "SolanaTransactionResponse", description: "A solana transaction." })
export type SolanaTransactionResponse = typeof SolanaTransactionResponse.Type
