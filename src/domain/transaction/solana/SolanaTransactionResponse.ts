// A transaction of solana as the API shows it. What is unknown is omitted; `null` is never sent.
import { Schema } from "effect"
import { RelayerId } from "../../relayer/Relayer.ts"
import { added, field } from "../../request/Field.ts"
import { Instant } from "../../request/Instant.ts"
import * as Shown from "../../request/Shown.ts"
import { shown } from "../Field.ts"
import { TransactionId, TransactionStatus } from "../TransactionId.ts"
import { SolanaInstruction } from "./SendSolanaTransaction.ts"

/** Base58 of 64 bytes. */
const Signature = Shown.shaped(/^[1-9A-HJ-NP-Za-km-z]{86,88}$/)

/** Base58 of 32 bytes. */
const Blockhash = Shown.shaped(/^[1-9A-HJ-NP-Za-km-z]{43,44}$/)

const Bytes = Shown.shaped(/^([A-Za-z0-9+/]{4}){0,16}$/)
const Code = Shown.shaped(/^[a-z]{2,12}(_[a-z]{2,12}){0,3}$/)

const at = "2026-11-22T12:00:00.000Z"
const signature = "5".repeat(88)
const blockhash = "J2xccRtuG43drESLYznHhLhQkLTdfepcKYbiQ9BsJVaf"

/** An optional property that existing clients do not know. */
const more = <S extends Schema.Top>(schema: S, description: string, example: S["Encoded"]) =>
  shown(schema, added(description), example)

export const SolanaAttemptResponse = Schema.Struct({
  signature: field(Signature, "Signature of the relayer, which names the attempt on the chain.", signature),
  kind: field(Schema.Literals(["original", "refresh"]), "Why it was signed.", "refresh"),
  blockhash: field(Blockhash, "Blockhash of its bytes.", blockhash),
  last_valid_block_height: field(Schema.Natural, "Last block height at which its bytes can land.", 280_000_150),
  compute_unit_limit: shown(Schema.Natural, "Compute units at most.", 20_000),
  compute_unit_price: field(Shown.Digits, "Micro-lamports per compute unit.", "1000"),
  max_fee: field(Shown.Digits, "Highest fee in lamports.", "5020"),
  signed_at: field(Instant, "When it was signed.", at),
  sent_at: shown(Instant, "When it was first sent.", at)
}).annotate({ identifier: "SolanaTransactionAttempt", description: "A signed version of the transaction." })

export const SolanaTransactionResponse = Schema.Struct({
  id: field(TransactionId, "Identifier of the transaction.", "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"),
  status: field(TransactionStatus, "State of the transaction.", "submitted"),
  created_at: field(Instant, "When it was accepted.", at),
  transaction: field(
    Bytes,
    "Base64 of the attempt that landed, else of the newest. Empty before the first signature.",
    "AQAAAA=="
  ),
  signature: shown(Signature, "Signature of the attempt that landed, else of the newest.", signature),
  status_reason: shown(Shown.Words, "What it waits for, or why it ended, as a sentence.", "It was canceled."),
  sent_at: shown(Instant, "When it was first sent.", at),
  confirmed_at: shown(Instant, "When it was confirmed.", at),
  instructions: shown(Schema.Array(SolanaInstruction), "The instructions of the request.", []),
  relayer_id: more(RelayerId, "Relayer that sends it.", "payouts"),
  code: more(Code, "The reason of its status as a code.", "landing_unproven"),
  external_id: more(Shown.Words, "The caller's identifier.", "order-1234"),
  valid_until: more(Instant, "Deadline.", "2026-11-22T12:30:00.000Z"),
  is_canceled: more(Schema.Boolean, "Whether a cancel was requested. The transaction may still be executed.", false),
  confirmed_by: more(Schema.Literal(1), "Present if one provider decided alone, because no other had an opinion.", 1),
  slot: more(Schema.Natural, "Slot of the attempt that landed.", 300_000_000),
  fee_paid: more(Shown.Digits, "Lamports that it paid in fees.", "5020"),
  error: more(Schema.Json, "Error of the attempt that landed, as the chain has it.", {
    InstructionError: [0, { Custom: 1 }]
  }),
  attempts: more(Schema.Array(SolanaAttemptResponse), "All signed versions, oldest first.", [])
}).annotate({ identifier: "SolanaTransactionResponse", description: "A solana transaction." })
export type SolanaTransactionResponse = typeof SolanaTransactionResponse.Type
